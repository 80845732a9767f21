// Package dumppb holds the protobuf messages of a device dump, generated from
// dump_data.proto by make proto. Package dumpfmt is its only user; everything
// else works with tensors.
package dumppb
