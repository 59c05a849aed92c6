// A page that replaced what it could by functions that throw. Only language features and platform objects stay.
(function () {
  var define = Object.defineProperty;
  var listed = [
    [String.prototype, 'trim padStart padEnd includes startsWith endsWith repeat split replace match matchAll at'],
    [Object, 'keys values entries assign fromEntries freeze seal'],
    [Function.prototype, 'bind toString'],
    [JSON, 'stringify'],
    [Element.prototype, 'closest matches insertAdjacentHTML prepend before after replaceWith'],
    [Document.prototype, 'getElementById write'],
    [Array, 'from of'],
    [Array.prototype, 'map filter reduce some every find findIndex includes indexOf concat slice splice join pop shift ' +
      'unshift reverse sort fill flat flatMap entries keys at forEach push'],
  ].map(function (row) { return [row[0], row[1].split(' ')]; });
  function refusal(name) {
    return function () { throw new TypeError(name + ' was replaced'); };
  }
  for (var i = 0; i < listed.length; i++) {
    for (var j = 0; j < listed[i][1].length; j++) {
      define(listed[i][0], listed[i][1][j], { configurable: true, writable: true, value: refusal(listed[i][1][j]) });
    }
  }
})();
