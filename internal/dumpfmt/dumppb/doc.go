// Package dumppb holds the protobuf messages of a device dump, generated from
// dump_data.proto by make proto. Tests write dumps with it, and compare what
// package dumpfmt reads of headers, which makes no messages.
package dumppb
