package dumpfmt

import (
	"errors"
	"fmt"
	"io"
)

// Options says how a file is read.
type Options struct {
	// Version forces the protobuf container: 1 or 2; 0 finds out. TLV files
	// are known by their magic number whatever Version says.
	Version int
}

// reader reads a file as one container. sure says, when err is not nil, that
// the file is one of these all the same.
type reader struct {
	as   Container
	read func(s *scanner) (d *Dump, sure bool, err error)
}

var (
	tlvReader = reader{TLV, readTLV}
	v2Reader  = reader{BinaryV2, readV2}
	v1Reader  = reader{ProtobufV1, readV1}
)

// Read reads the dump file of the given size. The tensors of the Dump read
// from r when they are used.
//
// The error is a *FormatError for a broken dump, a *UnsupportedError for what
// this package does not do, and wraps ErrNotDump when nothing suggests that
// the file is a dump.
func Read(r io.ReaderAt, size int64, opt Options) (*Dump, error) {
	if size < 0 {
		return nil, broken(0, "file size", fmt.Sprint(size), "is negative")
	}
	s := newScanner(r, size)
	defer s.release()
	readers, err := candidates(s, opt)
	if err != nil {
		return nil, err
	}
	var failed []attempt
	var first error // of a container that the file surely is
	for _, c := range readers {
		d, sure, err := c.read(s)
		if err == nil {
			d.Container, d.FileSize = c.as, size
			return d, nil
		}
		v, ok := errors.AsType[verdict](err)
		if !ok {
			return nil, err
		}
		failed = append(failed, attempt{c.as, v})
		if sure && first == nil {
			first = err
		}
	}
	if first != nil {
		return nil, first
	}
	return nil, &notDumpError{failed}
}

// candidates lists the containers that the file may be, the likeliest first.
func candidates(s *scanner, opt Options) ([]reader, error) {
	var all []reader
	magic, err := hasMagic(s)
	if err != nil {
		return nil, err
	}
	if magic {
		all = append(all, tlvReader)
	}
	switch opt.Version {
	case 0:
		return append(all, v2Reader, v1Reader), nil
	case 1:
		return append(all, v1Reader), nil
	case 2:
		return append(all, v2Reader), nil
	}
	return nil, &UnsupportedError{fmt.Sprintf("dump version %d", opt.Version)}
}
