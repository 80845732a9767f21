// Package jsonpos reads JSON as RFC 8259 defines it and remembers where every
// key and value stands. Text that is not JSON is read as well as it can be:
// each deviation becomes a Problem with its place, its usual cause and, when
// there is one right answer, the edit that repairs it, and reading goes on.
//
// Memory is bounded by the size of the text, nesting and number of values are
// limited. What the values mean is left to package dumpconf.
package jsonpos
