// Package dumpconf reads and checks the files that say what Ascend software
// dumps: acl.json of the ACL runtime, the dump settings of MindSpore, and
// the dump options of the graph engine and the TensorFlow adapter written as
// flat JSON.
//
// All that is known about a key is a row of the tables in acl.go, mindspore.go,
// engine.go and msprobe.go: a new key is a row, and a rule where its value has to fit
// others.
//
// Check finds out which of them a text is, reads it into settings that know their
// row and their place in the text, and applies a table of rules. The runtimes
// ignore unknown keys and report one mistake at a time; the rules find all of
// them, with line and column, the runtime's own error code and, where there
// is one right answer, the edit that repairs it.
//
// New makes a configuration for a purpose, Explain says in plain words what one
// does, and Translate writes it for another runtime. What New and Translate
// write has no errors by these rules.
//
// The rules follow public sources: the documentation and sources of the CANN
// runtime and graph engine (codes EP0001 to EP0005 and E10001 to E10058) and
// of MindSpore (dump_json_parser). Versions are those whose documentation
// first shows a key.
//
// Checks touch neither files nor environment: what they need to know of them
// comes through Options. Printing is left to others.
package dumpconf
