// Prototype pollution: names that option bags and messages have, enumerable on every object and array.
var names = ['method', 'headers', 'signal', 'mode', 'credentials', 'cache', 'body', 'once', 'passive', 'capture', 'type',
  'name', 'status', 'error', 'token', 'work', 'show', 'stepUp', 'code', 'message', 'decisionId', 'sitekey', 'action',
  'widget', 'locale', 'callback', 'timeout', 'found', 'facts', 'instrument', 'keepalive', 'integrity', 'window', 'duplex'];
for (var i = 0; i < names.length; i++) Object.prototype[names[i]] = 'polluted';
Array.prototype.extra = function () { return 'polluted'; };
Object.prototype.extra = 'polluted';
