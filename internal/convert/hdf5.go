package convert

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"dumptool/internal/batch"
	"dumptool/internal/dumpdir"
	"dumptool/internal/format/hdf5"
	"dumptool/internal/lang"
	"dumptool/internal/lists"
	"dumptool/internal/safefile"
	"dumptool/internal/store"
	"dumptool/internal/tensorfile"
)

// The output types that extract operators from an HDF5 file, such as a file of torch.utils.dumper;
// see Extraction.
const (
	H5     Type = "h5"     // one HDF5 file with these operators
	H5Copy Type = "h5copy" // h5copy commands that make the same file
)

// Extracts reports whether an Extraction makes the output type.
func (t Type) Extracts() bool { return t == H5 || t == H5Copy }

// ErrNotHDF5 is the error of an Extraction from another kind of file.
var ErrNotHDF5 = lang.Errorf("it is no HDF5 file")

// Extraction copies operators from an HDF5 file in their stored form.
type Extraction struct {
	// In is the input file, Out the new file.
	In, Out string
	// Ops selects operators, groups and datasets, nil for all.
	Ops *dumpdir.NameSet
}

// Write writes the new file completely or not at all, and not if nothing is selected. The error is
// ErrNotHDF5, or from reading or writing.
func (x *Extraction) Write(ctx context.Context) (*hdf5.ExtractResult, error) {
	f, size, err := x.openInput()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	out := &newFile{ctx: ctx, path: x.Out}
	defer out.abort()
	w := bufio.NewWriter(out)
	done, err := hdf5.Extract(w, f, size, func(path []string) bool { return x.Ops.PrefixLength(path) >= 0 })
	if err == nil {
		err = w.Flush()
	}
	switch {
	case err != nil:
		return nil, safefile.WithPath(x.In, err)
	case out.file == nil: // nothing was selected
		return done, nil
	}
	return done, out.file.Commit()
}

// newFile is a file that the first write creates, with its folder. Writes fail once the context
// ends.
type newFile struct {
	ctx  context.Context
	path string
	file *safefile.File
}

func (n *newFile) Write(p []byte) (int, error) {
	err := n.ctx.Err()
	if err == nil && n.file == nil {
		if err = safefile.MkdirAll(store.Dir(n.path)); err == nil {
			n.file, err = safefile.Create(n.path)
		}
	}
	if err != nil {
		return 0, err
	}
	return n.file.Write(p)
}

func (n *newFile) abort() {
	if n.file != nil {
		n.file.Abort()
	}
}

// Commands returns command lines of h5copy that make the new file, in the order of names, and the
// names that h5copy cannot copy. The error is ErrNotHDF5, or from reading.
func (x *Extraction) Commands() (commands, left []string, err error) {
	f, size, err := x.openInput()
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	var last []string
	// keep returns false: Extract only lists the datasets here.
	_, err = hdf5.Extract(io.Discard, f, size, func(path []string) bool {
		n := x.Ops.PrefixLength(path)
		if n < 0 {
			return false
		}
		if n = max(n, 1); hdf5.OperatorOf(path) != nil {
			n = max(n, 2)
		}
		if taken := path[:n]; last == nil || !slices.Equal(last, taken) {
			last = slices.Clone(taken)
			name := "/" + strings.Join(taken, "/")
			if n < len(path) {
				name += "/"
			}
			if slices.ContainsFunc(taken, isUnquotable) {
				left = append(left, fmt.Sprintf("%+q", name))
				return false
			}
			commands = append(commands, lang.ShellLine([]string{"h5copy", "-pv", "-i", lang.PathArgument(x.In), "-o", lang.PathArgument(x.Out), "-s", name, "-d", name}))
		}
		return false
	})
	if err != nil {
		return nil, nil, safefile.WithPath(x.In, err)
	}
	return commands, left, nil
}

// isUnquotable reports whether a name cannot be part of a command line: h5copy ends a name at a slash, and
// unprintable characters may harm a terminal.
func isUnquotable(name string) bool {
	return !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return r == '/' || !unicode.IsPrint(r) })
}

// openInput opens the file.
func (x *Extraction) openInput() (f safefile.Input, size int64, err error) {
	info, err := store.Stat(x.In)
	if err != nil {
		return nil, 0, err
	}
	if info.IsDir() {
		return nil, 0, ErrNotHDF5
	}
	if f, err = safefile.Open(x.In); err != nil {
		return nil, 0, err
	}
	if !tensorfile.IsHDF5(f, x.In) {
		return nil, 0, errors.Join(ErrNotHDF5, f.Close())
	}
	return f, info.Size(), nil
}

// Outcome returns the outcome of an extraction.
func (x *Extraction) Outcome(done *hdf5.ExtractResult) batch.Outcome {
	all := lists.Map(done.Left, func(left lang.Sentence) batch.Message { return batch.Errorf("%s: not copied: %s", x.In, left) })
	if done.Datasets > 0 {
		all = append(all, batch.Infof("%s written to %s from %s", lang.CountText(done.Datasets, "dataset"), x.Out, x.In))
	}
	o := x.baseOutcome(done.Datasets, len(done.Left))
	o.Messages = all
	return o
}

// CommandOutcome returns the outcome of listing commands; left are the names without a command.
func (x *Extraction) CommandOutcome(commands, left []string) batch.Outcome {
	var all []batch.Message
	for _, name := range left {
		all = append(all, batch.Errorf("%s: the name %s cannot be written in a shell command: -t h5 copies it", x.In, name))
	}
	o := x.baseOutcome(len(commands), len(left))
	o.Messages = all
	return o
}

func (x *Extraction) baseOutcome(taken, left int) batch.Outcome {
	switch {
	case left > 0:
		return batch.Outcomef(batch.Incomplete, "%s was not copied completely", x.In)
	case taken == 0 && x.Ops != nil:
		return batch.Outcomef(batch.Nothing, "%s has none of the operators %s", x.In, strings.Join(x.Ops.Texts(), ", "))
	case taken == 0:
		return batch.Outcomef(batch.Nothing, "no tensor in it")
	}
	return batch.Outcome{}
}
