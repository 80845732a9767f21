// Package convert turns dump files into host files: it finds the dumps, works
// out names and target shapes, and streams every tensor through its layout and
// element conversion into a .npy, .bin or text file.
//
// What goes wrong with one tensor or one file is a row of its Result and does
// not stop the rest. Output files appear under their names only when they are
// complete.
package convert

import (
	"dumptool/internal/dumpdir"
	"dumptool/internal/lang"
	"dumptool/internal/shard"
	"dumptool/internal/store"
	"dumptool/internal/tensor"
	"dumptool/internal/tensorfile"
)

// Type is the kind of output file.
type Type string

// The output types.
const (
	Npy   Type = "npy"   // numpy array
	Bin   Type = "bin"   // stored elements without a header
	MSNpy Type = "msnpy" // numpy array, named as MindSpore names its dumps
	Txt   Type = "txt"   // one value a line, as numpy.savetxt prints them
	Pt    Type = "pt"    // tensor of PyTorch, as torch.save writes it
	// Safetensors is one file for all tensors of a file.
	Safetensors Type = "safetensors"
)

// Types lists the output types.
var Types = []Type{Npy, Bin, MSNpy, Txt, Pt, Safetensors, H5, H5Copy}

// Options says what to convert and how. The zero value of a field asks for the
// default.
type Options struct {
	// Out is the output folder; it is made when the first file is written.
	Out string
	// Target is the format to convert to; nil writes the tensors as they are
	// stored.
	Target *tensor.Format
	// Shape is the host shape in the target's order, for a single file.
	Shape tensor.Shape
	// Input and Output select one tensor of a single file; nil means all.
	Input, Output *int
	Type          Type
	// Version forces the container: 1, 2, or 0 to find out from the content.
	Version int
	// Order is the axis order of the original shapes where they do not record it.
	Order *tensor.Format
	// C0 is the channel block of device layouts to make.
	C0 int64
	// Groups overrides the groups of FRACTAL_Z tensors.
	Groups int64
	// HiddenSize and InputSize are attributes of RNN layouts.
	HiddenSize, InputSize int64
	// Custom runs the user's own converters, nil when there are none.
	Custom *Custom
	// Rounds and Ops choose what is converted of a run; their zero values want all.
	Rounds dumpdir.Selection
	Ops    *dumpdir.NameSet
	// Only are the files of folders that are converted, by their absolute paths; nil
	// converts all.
	Only map[string]bool
	// SkipExisting leaves tensors alone whose output file exists.
	SkipExisting bool
	// Origin says where the document of a shard comes from. Without a shard all files are
	// converted, and there is no document.
	Origin shard.Origin
	// Workers is the number of files converted at a time; 0 means one per CPU and one
	// more.
	Workers int
}

// workers is how many files are converted at a time. Files of one folder are made and
// named one after the other, for which a worker waits; with one more than there are
// processors none of those waits with it.
func (o Options) workers() int {
	if o.Workers > 0 {
		return o.Workers
	}
	return store.Workers() + 1
}

// FileSchema is that of a Result as a document.
const FileSchema = "dumptool/convert_file/1"

// Result is the result of one file, and the document of it.
type Result struct {
	Schema string `json:"schema"`
	// Job has the path of the file.
	Job Job `json:"file"`
	// Rows are what the file holds.
	Rows []Row `json:"outputs"`
	// Warnings are what is odd about the file.
	Warnings []string `json:"warnings,omitempty"`
	// Err says why the file could not be converted at all.
	Err lang.Failure `json:"error,omitempty"`
	// NotDump is set for a file that is no dump and does not claim to be one.
	NotDump bool  `json:"-"`
	why     error // then
	// Empty is set for a file that names its tensors and has none.
	Empty bool `json:"-"`
}

func newResult(job Job, err error) Result {
	return Result{Schema: FileSchema, Job: job, Rows: []Row{}, Err: lang.Failed(err)}
}

// Row is the result of one tensor, buffer or log space of a file.
type Row struct {
	// Kind is input, output, l1buffer, space or another kind of buffer.
	Kind string `json:"kind"`
	// Index is the number among those of the kind, from 0.
	Index int `json:"index"`
	// Name is the one in a file that names its tensors, else empty.
	Name string `json:"name,omitempty"`
	// Path is the output file, empty after an error.
	Path string `json:"path,omitempty"`
	// Original is the name that the file would have had if that were not too long, else
	// empty.
	Original string `json:"-"`
	// Skipped is set when the output file existed already.
	Skipped bool `json:"skipped,omitempty"`
	// Warnings are what is odd about the tensor.
	Warnings []string `json:"warnings,omitempty"`
	// Err says why there is no output.
	Err lang.Failure `json:"error,omitempty"`
}

// end notes how the conversion ended.
func (r *Row) end(err error) {
	if r.Err = lang.Failed(err); err != nil {
		r.Path = ""
	}
}

// Label names the tensor, buffer or log space as messages do.
func (r *Row) Label() string { return tensorfile.Label(r.Name, tensor.Kind(r.Kind), r.Index) }

// Failed reports whether the file or any of its rows failed.
func (r *Result) Failed() bool {
	if r.Err != nil {
		return true
	}
	for _, row := range r.Rows {
		if row.Err != nil {
			return true
		}
	}
	return false
}
