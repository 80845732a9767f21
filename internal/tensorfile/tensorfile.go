// Package tensorfile opens any supported file - a dump in one of its
// containers, a .npy array, or a raw file whose name or user tells what is in
// it - as a list of tensors, and reads their elements in blocks. What is done
// with them is up to the caller.
package tensorfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"dumptool/internal/dumpfmt"
	"dumptool/internal/npy"
	"dumptool/internal/tensor"
)

// Kind says on which side of an operator a tensor is.
type Kind string

// The kinds, as they appear in file names. The array of a .npy file is an
// output, and so is that of a raw file whose name does not tell.
const (
	Input  Kind = "input"
	Output Kind = "output"
)

// Tensor is one tensor of a file.
type Tensor struct {
	tensor.Tensor
	Kind  Kind
	Index int
	// Err tells why the tensor cannot be used although its file can.
	Err error
}

// String names the tensor as messages do, such as output 0.
func (t *Tensor) String() string { return fmt.Sprintf("%s %d", t.Kind, t.Index) }

// File is an open file. Its tensors read from it, so it is closed last.
type File struct {
	Path string
	// Dump is the dump file, nil for a .npy array and for a raw file.
	Dump *dumpfmt.Dump
	// Tensors are all inputs, then all outputs.
	Tensors  []Tensor
	Warnings []string

	file *os.File
}

// Open opens the file at path. The error is one of os, of package dumpfmt or of
// package npy; a file that is neither a dump nor an array wraps
// dumpfmt.ErrNotDump.
func Open(path string, opt dumpfmt.Options) (*File, error) {
	file, err := openRegular(path)
	if errors.Is(err, errIrregular) {
		return nil, fmt.Errorf("%w: %w", dumpfmt.ErrNotDump, err)
	}
	if err != nil {
		return nil, err
	}
	f := &File{Path: path, file: file}
	if err := f.read(opt); err != nil {
		_ = file.Close()
		return nil, err
	}
	return f, nil
}

var errIrregular = errors.New("not a regular file")

// openRegular opens a file that is no pipe, which would block, and no folder.
func openRegular(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errIrregular
	}
	return os.Open(path)
}

// Close closes the file.
func (f *File) Close() error { return f.file.Close() }

var npyMagic = []byte("\x93NUMPY")

func (f *File) read(opt dumpfmt.Options) error {
	info, err := f.file.Stat()
	if err != nil {
		return err
	}
	magic := make([]byte, len(npyMagic))
	if _, err := f.file.ReadAt(magic, 0); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if bytes.Equal(magic, npyMagic) {
		return f.readArray(info.Size())
	}
	d, err := dumpfmt.Read(f.file, info.Size(), opt)
	if err != nil {
		return err
	}
	f.Dump, f.Warnings = d, d.Warnings
	f.add(Input, d.Inputs, d.InputDetails)
	f.add(Output, d.Outputs, d.OutputDetails)
	return nil
}

func (f *File) add(kind Kind, tensors []tensor.Tensor, details []dumpfmt.Detail) {
	for i, t := range tensors {
		f.Tensors = append(f.Tensors, Tensor{Tensor: t, Kind: kind, Index: i, Err: details[i].Err})
	}
}

func (f *File) readArray(size int64) error {
	array, err := npy.Open(f.file, size)
	if err != nil {
		return err
	}
	if array.Spare > 0 {
		f.Warnings = append(f.Warnings, fmt.Sprintf("%d bytes after the data at 0x%x", array.Spare, array.Offset+array.Size))
	}
	f.Tensors = []Tensor{{Kind: Output, Tensor: tensor.Tensor{
		DType: array.Host.DType(), Format: tensor.ND, Shape: array.Shape, Size: array.Size, Data: array.Data(),
	}}}
	if len(array.Shape) == 0 {
		f.Tensors[0].Shape = tensor.Shape{}
	}
	return nil
}

// Stored returns the shape of the elements that the tensor's bytes hold.
// Without a recorded shape, and for bytes of undefined type, that is a flat run
// of as many elements as there are. More bytes than the shape needs are fine,
// fewer are an error.
func (t *Tensor) Stored() (tensor.Shape, error) {
	if t.Err != nil {
		return nil, t.Err
	}
	all, ok := t.DType.Elements(t.Size)
	if !ok {
		return nil, &tensor.UnsupportedType{DType: t.DType}
	}
	if t.DType == tensor.Undefined || t.Shape == nil || len(t.Shape) == 0 && all != 1 {
		return tensor.Shape{all}, nil
	}
	n, ok := t.Shape.Count()
	if !ok {
		return nil, fmt.Errorf("shape %v has too many elements", t.Shape)
	}
	if need, ok := t.DType.Bytes(n); !ok || need > t.Size {
		return nil, fmt.Errorf("%v elements of %s need %d bytes, found %d", t.Shape, t.DType, need, t.Size)
	}
	return t.Shape, nil
}
