function i(n){let t=String(n??""),e=typeof n=="string"&&/^[=+\-@\t\r]/.test(t)?`'${t}`:t;return/[",\n\r]/.test(e)?`"${e.replaceAll('"','""')}"`:e}function c(n,t){return[n,...t].map(e=>e.map(i).join(",")).join(`\r
`)+`\r
`}function l(n,t,e="text/csv"){let o=URL.createObjectURL(new Blob([t],{type:e})),r=document.createElement("a");r.href=o,r.download=n,r.click(),setTimeout(()=>URL.revokeObjectURL(o),1e3)}export{c as a,l as b};
