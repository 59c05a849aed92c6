// What Prototype.js, MooTools and old polyfills did to a page: methods added to everything, enumerable, and others replaced.
Object.prototype.extend = function () { return this; };
Array.prototype.toJSON = function () { return '[' + Array.prototype.join.call(this, ', ') + ']'; };
String.prototype.toJSON = function () { return '"' + this + '"'; };
Number.prototype.toJSON = function () { return '' + this; };
Object.prototype.toJSON = undefined;
Array.prototype.each = function (visit) { for (var i = 0; i < this.length; i++) visit(this[i], i); };
Array.prototype.contains = function (value) { return this.indexOf(value) >= 0; };
Array.prototype.reduce = function () { return this.length > 1 ? this : this[0]; };
Array.prototype.map = function (visit) { var made = []; this.each(function (value) { made.push(visit ? visit(value) : value); }); return made; };
Array.prototype.entries = function () { return this; };
Function.prototype.bind = function (self) { var inner = this, given = [].slice.call(arguments, 1); return function () { return inner.apply(self, given.concat([].slice.call(arguments))); }; };
Element.prototype.remove = function () { this.style.display = 'none'; return this; };
Element.prototype.closest = function () { return null; };
document.getElementsByClassName = function () { return []; };
window.$ = function (id) { return document.getElementById(id); };
