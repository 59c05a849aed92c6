/** Sends a token with each order that the checkout block places. */
(function (settings) {
  wp.apiFetch.use(function (options, next) {
    var place = String(options.path || options.url || "");
    if (!/wc\/store(\/v\d+)?\/checkout/.test(place) || options.method !== "POST") return next(options);
    return window.agentgate.execute({ sitekey: settings.sitekey, action: settings.action }).then(function (check) {
      return next(Object.assign({}, options, {
        headers: Object.assign({}, options.headers, { "X-AgentGate-Token": check.token }),
      }));
    });
  });
})(window.agentgateCheckout);
