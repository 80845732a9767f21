// Package convert converts dump files to host files: it finds the dumps, chooses names and target
// shapes, and streams every tensor through layout and element conversion into a .npy, .bin or text
// file.
//
// An error of one tensor or one file is part of its Result and does not stop the others. Output
// files appear under their names only when they are complete.
package convert

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"dumptool/internal/batch"
	"dumptool/internal/dumpdir"
	"dumptool/internal/filename"
	"dumptool/internal/lang"
	"dumptool/internal/lists"
	"dumptool/internal/shard"
	"dumptool/internal/store"
	"dumptool/internal/tensor"
	"dumptool/internal/tensorfile"
)

// Type is the kind of output file.
type Type string

// Values of Type.
const (
	Npy   Type = "npy"   // numpy array
	Bin   Type = "bin"   // stored elements without a header
	MSNpy Type = "msnpy" // numpy array with a name in the form of MindSpore's dumps
	Txt   Type = "txt"   // one value a line, in the format of numpy.savetxt
	Pt    Type = "pt"    // tensor of PyTorch, in the format of torch.save
	// Safetensors is one file for all tensors of a file.
	Safetensors Type = "safetensors"
)

// Types lists the output types.
var Types = []Type{Npy, Bin, MSNpy, Txt, Pt, Safetensors, H5, H5Copy}

// Options are the options of a conversion. Zero values are the defaults.
type Options struct {
	// Out is the output folder; it is made when the first file is written.
	Out string
	// Target is the format to convert to; nil keeps the stored form.
	Target *tensor.Format
	// Shape is the host shape in the target's order, for a single file.
	Shape tensor.Shape
	// Input and Output select one tensor of a single file; nil means all.
	Input, Output *int
	Type          Type
	// Version forces the container: 1, 2, or 0 to detect it.
	Version int
	LayoutOptions
	// Custom runs the user's own converters, nil for none.
	Custom *Custom
	// Rounds and Ops select parts of a run; their zero values select all.
	Rounds dumpdir.Selection
	Ops    *dumpdir.NameSet
	// Only lists the files to convert in folders, by their absolute paths; nil converts all.
	Only map[string]bool
	// SkipExisting skips tensors whose output file exists.
	SkipExisting bool
	// Origin is the origin of the document of a shard. Without a shard all files are converted, and
	// there is no document.
	Origin shard.Origin
	// Workers is the number of files converted at a time; 0 means one more than the number of CPUs.
	Workers int
}

// workerCount returns the number of files converted at a time. A worker sometimes waits, because files
// of one folder are made and named one after the other; the extra worker uses its processor
// meanwhile.
func (o Options) workerCount() int {
	if o.Workers > 0 {
		return o.Workers
	}
	return store.Workers() + 1
}

// FileSchema is the schema of a Result as a document.
const FileSchema = "dumptool/convert_file/1"

// Result is the result of one file, and its document.
type Result struct {
	Schema string `json:"schema"`
	// Job has the path of the file.
	Job Job `json:"file"`
	// Rows are the results of the tensors of the file.
	Rows []Row `json:"outputs"`
	// Warnings are oddities of the file.
	Warnings []lang.Sentence `json:"warnings,omitempty"`
	// Err is the reason why the whole file could not be converted.
	Err lang.Failure `json:"error,omitempty"`
	// NotDump: the file is not a dump, neither by content nor by name.
	NotDump bool  `json:"-"`
	why     error // the reason if NotDump
	// Empty: the file names its tensors and has none.
	Empty bool `json:"-"`
}

func newResult(job Job, err error) Result {
	return Result{Schema: FileSchema, Job: job, Rows: []Row{}, Err: lang.AsFailure(err)}
}

// Row is the result of one tensor, buffer or log space of a file.
type Row struct {
	// Kind is input, output, l1buffer, space or another kind of buffer.
	Kind string `json:"kind"`
	// Index is the number among the rows of the same kind, from 0.
	Index int `json:"index"`
	// Name is the name of the tensor if its file names its tensors, else empty.
	Name string `json:"name,omitempty"`
	// Path is the output file, empty after an error.
	Path string `json:"path,omitempty"`
	// Original is the name that was too long and was shortened, else empty.
	Original string `json:"-"`
	// Skipped: the output file existed already.
	Skipped bool `json:"skipped,omitempty"`
	// Warnings are oddities of the tensor.
	Warnings []lang.Sentence `json:"warnings,omitempty"`
	// Err is the reason why there is no output.
	Err lang.Failure `json:"error,omitempty"`
}

// setResult records the result of the conversion.
func (r *Row) setResult(err error) {
	if r.Err = lang.AsFailure(err); err != nil {
		r.Path = ""
	}
}

// Label names the tensor, buffer or log space for messages.
func (r *Row) Label() string { return tensorfile.Label(r.Name, tensor.Kind(r.Kind), r.Index) }

// HasFailed reports whether the file or any of its rows failed.
func (r *Result) HasFailed() bool {
	if r.Err != nil {
		return true
	}
	return slices.ContainsFunc(r.Rows, func(row Row) bool { return row.Err != nil })
}

// SplitPaths splits comma-separated lists of paths; a value that exists as a path is not split.
func SplitPaths(values []string) []string {
	var paths []string
	for _, v := range values {
		if !strings.Contains(v, ",") {
			paths = append(paths, v)
			continue
		}
		if _, err := store.Stat(v); err == nil {
			paths = append(paths, v)
			continue
		}
		for p := range strings.SplitSeq(v, ",") {
			if p != "" {
				paths = append(paths, p)
			}
		}
	}
	return paths
}

// Open lists the chosen part of the run at paths, without the output folder, and returns the
// warnings. If the input is not a single file, it drops the options for single files.
func (o *Options) Open(ctx context.Context, paths []string, noRecursive bool) (*dumpdir.Run, []lang.Sentence, error) {
	in, err := dumpdir.Open(ctx, paths, dumpdir.Options{NoRecursive: noRecursive, Skip: o.Out, Only: o.Only})
	if err != nil {
		return nil, nil, err
	}
	if err := in.Choose(ctx, o.Rounds, o.Ops, dumpdir.HeaderOptions{Version: o.Version, Workers: o.Workers}); err != nil {
		return nil, nil, err
	}
	warnings := slices.Concat(in.TreeWarnings(), dumpdir.ChoiceWarnings(dumpdir.RunSelection{Run: in, By: o.Rounds}))
	if !in.Single && (o.Input != nil || o.Output != nil || o.Shape != nil) {
		warnings = append(warnings, lang.Say("-o, -i and -s are for a single file: not used"))
		o.Input, o.Output, o.Shape = nil, nil, nil
	}
	if o.Custom != nil {
		warnings = append(warnings, o.Custom.Warnings()...)
	}
	return in, warnings, nil
}

// Messages returns the messages about the file.
func (r *Result) Messages() []batch.Message {
	path := r.Job.Path()
	if r.NotDump {
		return []batch.Message{batch.Debug("not a dump", "file", path, "why", r.why)}
	}
	all := lists.Map(r.Warnings, func(w lang.Sentence) batch.Message { return batch.Warnf("%s: %s", path, w) })
	if isFailure(r.Err) {
		all = append(all, dumpdir.UnreadMessages(path, r.Err)...)
	}
	for _, row := range r.Rows {
		for _, w := range row.Warnings {
			all = append(all, batch.Warnf("%s: %s: %s", path, row.Label(), w))
		}
		if isFailure(row.Err) {
			all = append(all, batch.Errorf("%s: %s: %v", path, row.Label(), row.Err))
		}
	}
	return all
}

// isFailure reports whether an error is a failure, not an interruption.
func isFailure(err error) bool { return err != nil && !errors.Is(err, context.Canceled) }

// Inputs are the files that were searched for files to convert.
type Inputs struct {
	Paths     []string // given paths
	NotChosen int      // files that were not chosen
	// Others describes the files without tensors.
	Others func() []batch.Message
}

// InputsOf returns the files of a run.
func InputsOf(in *dumpdir.Run) Inputs { return Inputs{in.Paths, in.NotChosen, in.OtherFiles} }

// Outcome returns the outcome of a conversion to the folder out.
func (s *Summary) Outcome(in Inputs, out string) batch.Outcome {
	o, dumps := s.baseOutcome(in), s.Files+s.Failed
	if s.Written > 0 || s.Skipped > 0 {
		text := lang.Say("convert¦%s written to %s from %s",
			lang.CountText(s.Written, "file"), out, lang.CountText(dumps, "dump"))
		if s.Skipped > 0 {
			text = lang.Say("%s, %d kept", text, s.Skipped)
		}
		if s.NotDumps > 0 {
			text = lang.Say("%s, %s ignored", text, lang.CountText(s.NotDumps, "other file"))
		}
		o.Messages = append(o.Messages, batch.Infof("%s", text))
	}
	return o
}

func (s *Summary) baseOutcome(in Inputs) batch.Outcome {
	switch dumps := s.Files + s.Failed; {
	case s.Failed == 1 && dumps == 1:
		return batch.Outcomef(batch.Incomplete, "the dump was not converted completely").AsShown()
	case s.Failed > 0:
		return batch.Outcomef(batch.Incomplete, "%d of %d dumps were not converted completely", s.Failed, dumps)
	case s.Files == 0 && s.Empty > 0:
		return batch.Outcomef(batch.Nothing, "no tensor in it")
	case s.Files == 0 && s.Arrays > 0:
		return batch.Outcomef(batch.Nothing, "nothing to convert: %s found, and %v", lang.CountText(s.Arrays, "array"), errArray)
	case s.Files == 0 && s.Statistics > 0:
		return batch.Outcomef(batch.Nothing, "nothing to convert: %s holds statistics, no tensors", strings.Join(in.Paths, ", "))
	case s.Files == 0 && in.NotChosen > 0:
		return batch.Outcomef(batch.Nothing, "no dump found among the %s of the selected rounds and operators; %s not selected", lang.CountText(s.NotDumps, "file"), lang.CountText(in.NotChosen, "file"))
	case s.Files == 0:
		o := batch.Outcomef(batch.Nothing, "no dump found among %s", lang.CountText(s.NotDumps, "file"))
		o.Messages = in.Others()
		return o
	}
	return batch.Outcome{}
}

// product is a tensor ready to be written, with the facts for its name and header.
type product struct {
	*Row
	shape tensor.Shape
	// format is the format of the elements; converted is set if a conversion made it.
	format    tensor.Format
	converted bool
	// dtype is the element type in the name of a .bin file.
	dtype string
}

// outputName returns the name of the output file of a tensor. base is the name of the dump, opName
// the full operator name in its header, possibly empty.
//
// The names are the same as with the msaccucmp tool: the name of a converted tensor has its shape,
// a .bin name also has element type and format, and MindSpore's form has the format.
func outputName(t Type, base, opName string, p product) string {
	stem := fmt.Sprintf("%s.%s.%d", base, p.Kind, p.Index)
	switch {
	case t == Bin:
		shape := p.shape
		if !p.converted {
			shape = tensor.Shape{p.shape.Elements()}
		}
		return fmt.Sprintf("%s.%s.%s.%s.bin", stem, shape.Join("_"), p.dtype, p.format)
	case t == MSNpy:
		return fmt.Sprintf("%s.%s.%d.%s.npy", mindSporeBase(base, opName), p.Kind, p.Index, p.format)
	case p.converted:
		return fmt.Sprintf("%s.%s.%s", stem, p.shape.Join("x"), t)
	}
	return stem + "." + string(t)
}

// arrayName returns the name of the output file of an array; base is the array's name without
// extension.
func arrayName(t Type, base string, p product) string {
	switch {
	case t == Bin && len(p.shape) == 0:
		return fmt.Sprintf("%s.%s.bin", base, p.dtype)
	case t == Bin:
		return fmt.Sprintf("%s.%s.%s.bin", base, p.shape.Join("_"), p.dtype)
	case t == Txt || t == Pt:
		return base + "." + string(t)
	}
	return base + ".npy"
}

// rawName returns the name of the host file of raw elements; base is their name without extension.
func rawName(t Type, base string, p product) string {
	if p.converted {
		base += "." + p.shape.Join("x")
	}
	return base + "." + string(t)
}

// mindSporeBase replaces the operator's name in a dump name of five parts by the last component of
// the full name.
func mindSporeBase(base, opName string) string {
	parts := strings.Split(base, ".")
	last := opName[strings.LastIndex(opName, "/")+1:]
	if len(parts) != 5 || last == "" {
		return base
	}
	parts[1] = filename.Safe(last)
	return strings.Join(parts, ".")
}

// cutExt returns a name without its extension.
func cutExt(name string) string { return strings.TrimSuffix(name, filepath.Ext(name)) }
