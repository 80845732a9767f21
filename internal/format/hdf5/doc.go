// Package hdf5 reads the HDF5 files that hold tensors: those of torch.utils.dumper
// of Ascend's PyTorch, and whatever h5py and the HDF5 library write with their
// ordinary settings. Tensors are found and described without reading their data;
// contiguous data is a part of the file, chunks are decoded as they are read.
//
// What is in a file is followed from its superblock: object headers of both
// versions, groups as symbol tables, link messages or fractal heaps, attributes in
// the header and in heaps, chunks by every index there is, deflate, shuffle and
// fletcher32. Left out, with an error for the tensor alone: other filters, virtual
// and external storage, types that are not numbers. Links to other files are never
// followed.
//
// A file can say anything about itself. Every length is checked before it is used,
// checksums are verified where the format has them, and what a file makes the
// package hold and read is bounded by the size of the file.
//
// The format is that of the HDF5 File Format Specification, version 3.0,
// https://support.hdfgroup.org/documentation/hdf5/latest/_f_m_t3.html.
package hdf5
