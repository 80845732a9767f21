// Package jsonpos reads JSON (RFC 8259) and remembers where every key and value
// stands. It is the one such reader of the project, for two kinds of text.
//
// Parse is for small files that people write. Text that is not JSON is read as well
// as it can be: each deviation becomes a Problem with its place, its usual cause and,
// when there is one right answer, the edit that repairs it, and reading goes on. The
// Document finds line and column of any offset.
//
// Reader is for files that programs write, of any size. It accepts JSON only, one
// value at a time: it walks into objects and arrays, skips what is not wanted, and
// reads single values whole, as a Value with places or into a Go value. Its errors
// say where they are, what was found and what was wanted.
//
// Both keep keys that occur twice (see Value.Repeated) and the text of numbers, and
// bound nesting and the number of values. What the values mean is left to callers.
package jsonpos
