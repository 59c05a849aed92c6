import{a,b,c,d}from"./chunk-YETIIED5.js";export{a as canUsePasskeys,b as createPasskey,d as offerPasskey,c as signWithPasskey};
