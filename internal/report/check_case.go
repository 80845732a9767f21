package report

import (
	"context"
	_ "embed"
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"dumptool/internal/batch"
	"dumptool/internal/check"
	"dumptool/internal/format/npy"
	"dumptool/internal/lang"
	"dumptool/internal/recompute"
	"dumptool/internal/store"
	"dumptool/internal/tensor"
)

// caseSchema is the schema of op.json.
const caseSchema = "dumptool/check_case/1"

// The scripts of a case are the same for all dumps: they read op.json.
var (
	//go:embed repro.py
	reproNumpy []byte
	//go:embed repro_torch.py
	reproTorch []byte
)

// caseTensor is a tensor of a case.
type caseTensor struct {
	// File is the array, empty if it was left out; Expected and Bound are arrays of an output.
	File     string `json:"file,omitempty"`
	Expected string `json:"expected,omitempty"`
	Bound    string `json:"bound,omitempty"`
	// Cut is the place of the array in the tensor, if it is a part of it.
	Cut    *recompute.PieceRange `json:"cut,omitempty"`
	DType  string                `json:"dtype"`
	Shape  tensor.Shape          `json:"shape"`
	Format string                `json:"format,omitempty"`
}

// caseDocument is op.json.
type caseDocument struct {
	Schema  string          `json:"schema"`
	Formula string          `json:"formula"`
	Row     *check.Operator `json:"operator"`
	Inputs  []*caseTensor   `json:"inputs"`
	Outputs []*caseTensor   `json:"outputs"`
	// Chip and Versions are filled in by the user.
	Chip     string `json:"chip"`
	Versions string `json:"versions"`
}

// Cases writes operators to run again, each into a folder of its own.
type Cases struct {
	dir                        string
	names                      *FileNames
	countWritten, parts, empty int
	err                        error
}

// NewCases returns a writer of cases below a folder.
func NewCases(dir string) *Cases { return &Cases{dir: dir, names: NewFileNames()} }

// Messages returns messages on the written cases; the error is the first one.
func (c *Cases) Messages() ([]batch.Message, error) {
	if c.err != nil || c.countWritten == 0 {
		return nil, c.err
	}
	all := []batch.Message{batch.Infof("%s: %s to run again, each with a README.md", c.dir, lang.CountText(c.countWritten, "operator"))}
	if c.parts > 0 {
		all = append(all, batch.Infof("%s: only the part around the worst element was written, since the whole exceeds --extract-max", lang.CountText(c.parts, "operator")))
	}
	if c.empty > 0 {
		all = append(all, batch.Infof("%s: no part within --extract-max shows the fault: op.json describes it", lang.CountText(c.empty, "operator")))
	}
	return all, nil
}

// Write writes an operator; after an error it does nothing.
func (c *Cases) Write(one *check.Case) {
	if c.err != nil {
		return
	}
	w := &caseWriter{Case: one, folder: NewFolder(store.Join(c.dir, c.names.Stem(one.Row.Op)))}
	if c.err = w.write(); c.err != nil {
		return
	}
	c.countWritten++
	switch {
	case one.Piece == nil:
		c.empty++
	case !one.Piece.IsUncut():
		c.parts++
	}
}

// caseWriter writes one operator.
type caseWriter struct {
	*check.Case
	folder *Folder
	err    error
}

// writeFile writes a file of the case, unless writing failed before.
func (w *caseWriter) writeFile(name string, render func(io.Writer) error) {
	if w.err == nil {
		w.err = w.folder.Write(name, render)
	}
}

func (w *caseWriter) write() error {
	op, inputCut, outputCut := w.Whole, nilRange, nilRange
	if p := w.Piece; p != nil {
		op = p.Operator
		inputCut, outputCut = func(k int) *recompute.PieceRange { return p.InputCuts[k] }, func(k int) *recompute.PieceRange { return p.OutputCuts[k] }
	}
	doc := caseDocument{Schema: caseSchema, Formula: op.Formula, Row: w.Row, Inputs: []*caseTensor{}, Outputs: []*caseTensor{}}
	for k, t := range op.Inputs {
		var one *caseTensor
		if t != nil {
			one = w.writeTensor(t, fmt.Sprintf("input_%d.npy", k), inputCut(k))
		}
		doc.Inputs = append(doc.Inputs, one)
	}
	for k, t := range op.Outputs {
		one := w.writeTensor(t, fmt.Sprintf("output_%d.npy", k), outputCut(k))
		if p := w.Piece; p != nil && p.Values[k] != nil {
			one.Expected, one.Bound = fmt.Sprintf("expected_%d.npy", k), fmt.Sprintf("bound_%d.npy", k)
			w.writeFile(one.Expected, numbersOf(tensor.HostFloat64, t.Shape, p.Values[k]))
			w.writeFile(one.Bound, numbersOf(tensor.HostFloat32, t.Shape, p.Bounds[k]))
		}
		doc.Outputs = append(doc.Outputs, one)
	}
	w.writeFile("op.json", func(to io.Writer) error { return writeJSON(to, doc) })
	w.writeFile("README.md", w.writeReadme)
	if w.Piece != nil {
		w.writeFile("repro.py", bytesWriter(reproNumpy))
		w.writeFile("repro_torch.py", bytesWriter(reproTorch))
	}
	return w.err
}

func nilRange(int) *recompute.PieceRange { return nil }

// writeTensor writes a tensor of the dump in host order.
func (w *caseWriter) writeTensor(t *recompute.Tensor, name string, cut *recompute.PieceRange) *caseTensor {
	one := &caseTensor{DType: t.DType.String(), Shape: append(tensor.Shape{}, t.Shape...), Cut: cut}
	if w.Piece == nil {
		return one
	}
	one.File = name
	w.writeFile(name, func(to io.Writer) error { return npy.Write(context.Background(), to, t.Source, t.Stored, one.Shape) })
	return one
}

// numbersOf writes numbers as an array; float32 values are rounded up.
func numbersOf(host tensor.Host, shape tensor.Shape, values []float64) func(io.Writer) error {
	return func(w io.Writer) error {
		b, err := npy.AppendHeader(nil, host, append(tensor.Shape{}, shape...))
		if err != nil {
			return err
		}
		for _, v := range values {
			if host == tensor.HostFloat64 {
				b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
				continue
			}
			one := float32(v)
			if float64(one) < v {
				one = math.Float32frombits(math.Float32bits(one) + 1)
			}
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(one))
		}
		_, err = w.Write(b)
		return err
	}
}

// writeReadme writes the difference and how to run the case, in English and Chinese.
func (w *caseWriter) writeReadme(to io.Writer) error {
	op, typ := escapeMarkdown(w.Row.Op), escapeMarkdown(w.Row.Type)
	var bad, n int64
	for _, o := range w.Row.Outputs {
		bad, n = bad+o.Bad, n+o.Elements
	}
	var part lang.Sentence
	switch p := w.Piece; {
	case p == nil:
		part = lang.Say("\nThe arrays are missing: no part of the operator within --extract-max shows the fault.\nop.json describes the operator.\n")
	case !p.IsUncut():
		part = lang.Say("\nThe operator is larger than --extract-max allows. The arrays are the part of it around the\nworst element, in which %d elements of the outputs are wrong: op.json says under `cut` where\neach begins, and in which shape.\n", p.Bad)
	}
	text := lang.Say(`# %s (%s): %s

%d of %d elements of its outputs do not follow from its inputs. The inputs, the outputs of
the NPU, the expected outputs and the error allowed to a healthy NPU are .npy files in host
order; op.json lists their types, the attributes and the source of each attribute. Please
add the chip and the versions of CANN and the framework to it.
%s
    python3 repro.py          # numpy: counts the differing elements again
    python3 repro_torch.py    # PyTorch: on the NPU if torch_npu is installed
`, op, typ, w.Row.Status, bad, n, part).Text()
	_, err := io.WriteString(to, text.String()+"\n"+text.Chinese())
	return err
}
