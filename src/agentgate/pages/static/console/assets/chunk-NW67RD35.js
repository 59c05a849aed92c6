function e(o){return o.wouldDecision?{outcome:o.wouldDecision,would:!0}:{outcome:o.outcome,would:!1}}export{e as a};
