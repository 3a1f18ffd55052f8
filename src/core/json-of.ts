/** Built-in objects whose content JSON does not see. The client refuses them. */
type Hidden =
  | ReadonlyMap<unknown, unknown>
  | ReadonlySet<unknown>
  | WeakMap<WeakKey, unknown>
  | WeakSet<WeakKey>
  | Promise<unknown>
  | RegExp
  | Error
  | ArrayBuffer
  | ArrayBufferView;

type AnyFunction = (...given: never[]) => unknown;

/**
 * The type of what a reader of its JSON gets of a value of the type `T`: a `Date` is a string, an object with `toJSON` is what that answers,
 * and methods are gone. `never` for what JSON does not have, such as a `bigint` or a `Map`.
 */
export type JsonOf<T> = unknown extends T
  ? T
  : T extends string | number | boolean | null | undefined
    ? T
    : T extends { toJSON(name: string): infer Value }
      ? JsonOf<Value>
      : T extends bigint | symbol | AnyFunction | Hidden
        ? never
        : T extends readonly unknown[]
          ? { [Index in keyof T]: JsonOf<T[Index]> }
          : { [Name in keyof T as Name extends symbol ? never : Field<Name, T[Name]>]: JsonOf<T[Name]> };

/** `never` for the name of a method. */
type Field<Name, Value> = unknown extends Value ? Name : Value extends AnyFunction ? never : Name;
