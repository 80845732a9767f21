// Package torch reads and writes the files of torch.save: zip files, as PyTorch
// has written them since version 1.6, and the form before. What torch.save was given
// is in a pickle; its tensors refer to storages, which are entries of the zip file
// or follow the pickle.
//
// The pickle is read for the shape of what is in it. Names of PyTorch are recognised
// by their text, and nothing is called: a file with any other name than those of
// tensors and plain data, such as a whole model, is refused.
//
// The format is that of torch/serialization.py, torch/_utils.py and
// caffe2/serialize in https://github.com/pytorch/pytorch, and of
// torch_npu/utils/storage.py in https://gitee.com/ascend/pytorch.
//
// A file that is read makes it through here: zip.go or legacy.go find the pickle and
// the storages, names.go says what the pickle may name and objects.go what tensors
// and storages are made of, rows.go lists them with their names, and view.go finds
// their elements. write.go writes a file with one tensor.
package torch

import (
	"bytes"
	"fmt"
	"io"
	"strconv"

	"dumptool/internal/format"
)

// FormatError reports a broken file.
type FormatError struct{ Problem string }

// Error returns the text of the error.
func (e *FormatError) Error() string { return e.Problem }

func broken(text string, args ...any) error { return &FormatError{fmt.Sprintf(text, args...)} }

// UnsupportedError reports a valid file, or a tensor, that this package does not
// read.
type UnsupportedError struct{ Problem string }

// Error returns the text of the error.
func (e *UnsupportedError) Error() string { return e.Problem }

func unsupported(text string, args ...any) error {
	return &UnsupportedError{fmt.Sprintf(text, args...)}
}

// Open reads the pickle of a file and finds the elements of its tensors. Their names
// are keys of dicts and places in lists. The error is a *FormatError, an
// *UnsupportedError, one of the packages archive and pickle, or one of r; a tensor
// that cannot be read has an error of its own.
func Open(r io.ReaderAt, size int64) (*format.Contents, error) {
	head := make([]byte, max(0, min(size, tarHead)))
	if err := format.ReadFull(r, head, 0); err != nil {
		return nil, err
	}
	switch {
	case bytes.HasPrefix(head, []byte("PK")):
		return openZip(r, size)
	case IsLegacy(head):
		return openLegacy(r, size)
	case isTar(head):
		if tarHas(r, size, "storages") {
			return nil, unsupported("the tar format of PyTorch before 0.1.10 is not supported")
		}
		return nil, unsupported("a tar archive, want a file of torch.save")
	}
	return nil, broken("the file begins with % x, want a file of torch.save", head[:min(len(head), 4)])
}

// tarHead is how long the header of an entry is in a tar file.
const tarHead = 512

func isTar(head []byte) bool {
	return len(head) == tarHead && bytes.HasPrefix(head[257:], []byte("ustar"))
}

// maxTar is how many entries of a tar file are looked at: PyTorch wrote four.
const maxTar = 8

// tarHas reports whether one of the first entries of a tar file has that name.
func tarHas(r io.ReaderAt, size int64, name string) bool {
	head := make([]byte, tarHead)
	for at, i := int64(0), 0; i < maxTar && at <= size-tarHead; i++ {
		if format.ReadFull(r, head, at) != nil || !isTar(head) {
			return false
		}
		if entry, _, _ := bytes.Cut(head[:100], []byte{0}); string(entry) == name {
			return true
		}
		length, err := strconv.ParseInt(string(bytes.Trim(head[124:136], " \x00")), 8, 48)
		if err != nil || length < 0 {
			return false
		}
		at += tarHead + (length+tarHead-1)/tarHead*tarHead
	}
	return false
}
