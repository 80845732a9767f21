// Package opdebug reads and writes overflow records: the payload of output 0
// of an OpDebug dump file, and its JSON form.
//
// Two layouts exist, both little-endian, both described in the CANN overflow
// data documentation ("overflow/underflow operator data collection and
// analysis"):
//
//   - the old layout (Ascend 910, 310P): a buffer of 2048 bytes with fixed
//     areas for DHA atomic add, L2 atomic add and AI Core, all values 64 bit;
//   - the new layout (Ascend 910B and later): a header of six 32-bit words
//     that starts with 0x5A5A5A5A, then one entry of 64-bit words whose fields
//     depend on the accelerator type.
//
// The package knows nothing of dump containers and touches no files. What the
// bits of a status word mean is left to package statusreg, and which operator
// a record belongs to, to package overflow.
package opdebug
