package report

import (
	_ "embed"
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"dumptool/internal/check"
	"dumptool/internal/format/npy"
	"dumptool/internal/recompute"
	"dumptool/internal/store"
	"dumptool/internal/tensor"
)

// caseSchema is that of op.json.
const caseSchema = "dumptool/check_case/1"

// The scripts of a case hold nothing of the dump: they read op.json.
var (
	//go:embed repro.py
	reproNumpy string
	//go:embed repro_torch.py
	reproTorch string
)

// caseTensor is a tensor of a case.
type caseTensor struct {
	// File is the array, empty for one that was left out; Expected and Bound are those of an
	// output.
	File     string       `json:"file,omitempty"`
	Expected string       `json:"expected,omitempty"`
	Bound    string       `json:"bound,omitempty"`
	DType    string       `json:"dtype"`
	Shape    tensor.Shape `json:"shape"`
	Format   string       `json:"format,omitempty"`
}

// caseDocument is op.json.
type caseDocument struct {
	Schema  string          `json:"schema"`
	Formula string          `json:"formula"`
	Row     *check.Operator `json:"operator"`
	Inputs  []*caseTensor   `json:"inputs"`
	Outputs []*caseTensor   `json:"outputs"`
	// Chip and Versions are for the user to fill in.
	Chip     string `json:"chip"`
	Versions string `json:"versions"`
}

// Cases writes operators for those who want to run them again, each into a folder of its own.
type Cases struct {
	// Most is how many bytes the arrays of an operator may have; of a larger one op.json alone
	// is written.
	Most int64

	dir     string
	names   *FileNames
	written []string
	err     error
}

// NewCases writes below a folder.
func NewCases(dir string, most int64) *Cases {
	return &Cases{Most: most, dir: dir, names: NewFileNames()}
}

// Written are the folders that were written; the error is the first one.
func (c *Cases) Written() ([]string, error) { return c.written, c.err }

// Write writes an operator; after an error it does nothing.
func (c *Cases) Write(one *check.Case) {
	if c.err != nil {
		return
	}
	stem := c.names.Stem(one.Row.Op)
	w := &caseWriter{Case: one, folder: NewFolder(store.Join(c.dir, stem))}
	w.whole = one.Expected != nil && w.size() <= c.Most
	if c.err = w.write(); c.err == nil {
		c.written = append(c.written, stem)
	}
}

// caseWriter writes one operator.
type caseWriter struct {
	*check.Case
	folder *Folder
	whole  bool
	err    error
}

// size is what the arrays take: those of the dump, and two of eight and four bytes an element
// for each output.
func (w *caseWriter) size() (n int64) {
	for _, t := range w.Inputs {
		if t != nil {
			n += t.Shape.Elements() * int64(t.Stored.Host().Size())
		}
	}
	for _, t := range w.Outputs {
		n += t.Shape.Elements() * int64(t.Stored.Host().Size()+12)
	}
	return n
}

// file writes a file of the case, unless one has failed.
func (w *caseWriter) file(name string, render func(io.Writer) error) {
	if w.err == nil {
		w.err = w.folder.Write(name, render)
	}
}

func (w *caseWriter) write() error {
	doc := caseDocument{Schema: caseSchema, Formula: w.Formula, Row: w.Row, Inputs: []*caseTensor{}, Outputs: []*caseTensor{}}
	for k, t := range w.Inputs {
		var one *caseTensor
		if t != nil {
			one = w.tensor(t, fmt.Sprintf("input_%d.npy", k))
		}
		doc.Inputs = append(doc.Inputs, one)
	}
	for k, t := range w.Outputs {
		one := w.tensor(t, fmt.Sprintf("output_%d.npy", k))
		if w.whole && w.Expected.Values[k] != nil {
			one.Expected, one.Bound = fmt.Sprintf("expected_%d.npy", k), fmt.Sprintf("bound_%d.npy", k)
			w.file(one.Expected, numbersOf(tensor.HostFloat64, t.Shape, w.Expected.Values[k]))
			w.file(one.Bound, numbersOf(tensor.HostFloat32, t.Shape, w.Expected.Bounds[k]))
		}
		doc.Outputs = append(doc.Outputs, one)
	}
	w.file("op.json", func(to io.Writer) error { return writeJSON(to, doc) })
	w.file("README.md", w.readme)
	if w.whole {
		w.file("repro.py", text(reproNumpy))
		w.file("repro_torch.py", text(reproTorch))
	}
	return w.err
}

func text(s string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, s)
		return err
	}
}

// tensor writes a tensor as the dump has it, in host order.
func (w *caseWriter) tensor(t *recompute.Tensor, name string) *caseTensor {
	one := &caseTensor{DType: t.DType.String(), Shape: append(tensor.Shape{}, t.Shape...)}
	if !w.whole {
		return one
	}
	one.File = name
	w.file(name, func(to io.Writer) error {
		decoder, err := tensor.NewDecoder(t.Stored)
		if err != nil {
			return err
		}
		head, err := npy.AppendHeader(nil, decoder.Host(), one.Shape)
		if err != nil {
			return err
		}
		if _, err := to.Write(head); err != nil {
			return err
		}
		const block = 1 << 16
		raw, host := make([]byte, block*decoder.UnitSize()), make([]byte, block*decoder.Host().Size())
		for first, n := int64(0), t.Shape.Elements(); first < n; first += block {
			size := int(min(block, n-first))
			if err := t.Source.ReadElements(raw[:size*decoder.UnitSize()], first); err != nil {
				return err
			}
			decoder.Decode(host[:size*decoder.Host().Size()], raw[:size*decoder.UnitSize()])
			if _, err := to.Write(host[:size*decoder.Host().Size()]); err != nil {
				return err
			}
		}
		return nil
	})
	return one
}

// numbersOf writes numbers as an array; those of four bytes are rounded upwards.
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

// readme says what differs and how to run it, in English and Chinese.
func (w *caseWriter) readme(to io.Writer) error {
	op, typ := markdown(w.Row.Op), markdown(w.Row.Type)
	var bad, n int64
	for _, o := range w.Row.Outputs {
		bad, n = bad+o.Bad, n+o.Elements
	}
	english, chinese := "", ""
	if !w.whole {
		english = "\nThe operator is larger than --extract-max: its arrays are not here, op.json describes it.\n"
		chinese = "\n该算子大于 --extract-max：此处没有数组，op.json 说明该算子。\n"
	}
	_, err := fmt.Fprintf(to, `# %s (%s): %s

%d of %d elements of its outputs are not what its inputs say. The inputs, the outputs of
the NPU, what was expected and how far a healthy NPU may be off are .npy files in the order
of the host; op.json has their types, the attributes and where each comes from. Please add
the chip and the versions of CANN and the framework to it.
%s
    python3 repro.py          # numpy: what differs, counted again
    python3 repro_torch.py    # PyTorch: on the NPU if torch_npu is there

# %s (%s)：%s

输出的 %d / %d 个元素与其输入应得的结果不符。输入、NPU 的输出、期望值以及正常 NPU 允许的偏差
均为主机排布的 .npy 文件；op.json 记录其类型、属性及各属性的来源。请在其中补充芯片以及 CANN 和
框架的版本。
%s
    python3 repro.py          # numpy：重新统计差异
    python3 repro_torch.py    # PyTorch：有 torch_npu 时在 NPU 上运行
`, op, typ, w.Row.Status, bad, n, english, op, typ, w.Row.Status, bad, n, chinese)
	return err
}
