// Package dumpfmt reads and writes the dump files of Ascend NPUs: their three
// containers, the protobuf header, the names of the files and the mapping.csv
// beside them.
//
// A file is read through an io.ReaderAt and a size. Reading it costs its
// descriptors only; the bytes of a tensor are an io.SectionReader over the file
// and are not touched here. What the bytes mean is package tensor's business,
// walking folders is the converter's.
package dumpfmt
