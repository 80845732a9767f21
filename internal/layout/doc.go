// Package layout moves elements between Ascend device layouts (NC1HWC0,
// FRACTAL_Z, FRACTAL_NZ, ...) and host axis orders (NCHW, HWCN, ND, ...).
//
// Every device layout is one offset rule: where in the device buffer a host
// element lies. Device to host is a gather by that rule, so padding is never
// looked at; host to device is a scatter into zeros. All pairs follow from it,
// because a host order only permutes the loops, and device to device goes
// through a host order.
//
// A rule is written as blocks: boxes of host elements in which the offset is a
// sum with one term per axis, and a term is a mixed-radix number (the channel
// axis of NC1HWC0 is c%C0 + (c/C0)*H*W*C0). From blocks follow boxes with
// plain strides on both sides, which is what is copied.
//
// The formulas are those of the public Ascend sources: the format_transfer
// code of the graph engine (hicann/ge), its shape inference, and the TransData
// operator (hicann/ops-math).
//
// The package knows nothing of files: it reads elements by offset
// through one small interface, a block at a time. A Plan says how a result comes
// about, a Reader gives any part of it: every move of elements is a read.
package layout
