/** What holds on pages that gave their elements the names of properties, or all objects further members. */

/** Read a property of the document that no element's name can hide (`<img name="body">` hides `document.body`). */
export function ofDocument<K extends keyof Document>(name: K): Document[K] {
  return Reflect.get(Document.prototype, name, document) as Document[K];
}

/** An object without a prototype, so that additions to `Object.prototype` are not taken for options. */
export function bare<T extends object>(values: T): T {
  return { __proto__: null, ...values } as T;
}
