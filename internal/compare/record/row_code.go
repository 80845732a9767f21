package record

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"strings"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// AppendRow appends a row in as few bytes as it takes, for the memory of one run: no
// file that lasts has it. Pictures are not in it, and texts are what they are in both
// languages.
func AppendRow(b []byte, r *Row) []byte {
	c := rowCodec{to: b}
	c.row(r)
	return c.to
}

// DecodeRow is the row of AppendRow.
func DecodeRow(b []byte) (*Row, error) {
	c := rowCodec{from: string(b), reading: true}
	r := new(Row)
	c.row(r)
	if c.bad || c.from != "" {
		return nil, errors.New("a row that was set aside is damaged")
	}
	return r, nil
}

// rowCodec writes a row or reads it: the same methods do both, as each of them either
// takes the value that it is given or sets it.
type rowCodec struct {
	reading bool
	bad     bool
	to      []byte
	from    string // what is left to read
}

func (c *rowCodec) row(r *Row) {
	for _, s := range []*string{&r.Op, &r.NPUOp, &r.OpType, &r.Kind, &r.Round, &r.At.Rank, &r.At.Step, &r.At.Graph, &r.At.Model, &r.Script,
		(*string)(&r.Status), (*string)(&r.ByLimits), &r.RefFile, &r.NPUFile, &r.Key, &r.Rule, &r.Limits.AtolSource, &r.Limits.RtolSource,
		&r.Module, (*string)(&r.Result)} {
		c.text(s)
	}
	c.path(&r.RefPath, r.RefFile)
	c.path(&r.NPUPath, r.NPUFile)
	for _, n := range []*int{&r.Output, &r.Order} {
		c.int(n)
	}
	c.int64(&r.Errors)
	for _, x := range []*float64{&r.Limits.Atol, &r.Limits.Rtol} {
		c.float(x)
	}
	for _, is := range []*bool{&r.Downstream, &r.Partial, &r.Forced, &r.Known} {
		c.flag(is)
	}
	coded(c, &r.RefDType)
	coded(c, &r.NPUDType)
	for _, s := range []*tensor.Shape{&r.Shape, &r.RefShape, &r.NPUShape} {
		listed(c, (*[]int64)(s), c.int64)
	}
	listed(c, &r.Modules, c.text)
	listed(c, &r.Inputs, c.int)
	listed(c, &r.Notes, c.sentence)
	listed(c, &r.Reasons, c.finding)
	pointed(c, &r.First, c.element)
	pointed(c, &r.Evidence, c.evidence)
	c.rare(r)
	hasErr := r.Err != nil
	if c.flag(&hasErr); hasErr {
		text := ""
		if !c.reading {
			text = r.Err.Error()
		}
		if c.text(&text); c.reading {
			r.Err = errors.New(text)
		}
	}
}

// path is one that is nearly always that of the file.
func (c *rowCodec) path(path *string, file string) {
	same := *path == file
	if c.flag(&same); !same {
		c.text(path)
	} else if c.reading {
		*path = file
	}
}

// rare are what few rows have, as JSON.
func (c *rowCodec) rare(r *Row) {
	var j struct {
		Statistics *statisticsJSON `json:",omitempty"`
		Standard   *standardJSON   `json:",omitempty"`
	}
	has := r.Statistics != nil || r.Standard != nil
	if c.flag(&has); !has {
		return
	}
	text := ""
	if !c.reading {
		j.Statistics, j.Standard = statisticsOf(r.Statistics), standardOf(r.Standard)
		b, err := json.Marshal(&j)
		c.bad = c.bad || err != nil
		text = string(b)
	}
	if c.text(&text); c.reading {
		err := json.Unmarshal([]byte(text), &j)
		if err == nil {
			r.Statistics = j.Statistics.statistics()
			r.Standard, err = j.Standard.standard()
		}
		c.bad = c.bad || err != nil
	}
}

func (c *rowCodec) finding(f *Finding) {
	c.text((*string)(&f.Code))
	c.text((*string)(&f.Confidence))
	c.sentence(&f.Evidence)
	listed(c, (*[]Fact)(&f.Facts), func(x *Fact) { c.text(&x.Name); c.text(&x.value) })
}

// sentence is a text in both languages.
func (c *rowCodec) sentence(s *lang.Sentence) {
	t := s.Text()
	c.text(&t.EN)
	same := t.ZH == t.EN
	if c.flag(&same); !same {
		c.text(&t.ZH)
	}
	switch {
	case !c.reading:
	case same:
		*s = lang.Plain(t.EN)
	default:
		*s = lang.Sayf(t.EN, t.ZH)
	}
}

func (c *rowCodec) element(e *metrics.Element) {
	c.int64(&e.Offset)
	c.float(&e.Abs)
	c.float(&e.Rel)
	for _, v := range []*metrics.Value{&e.Ref, &e.NPU} {
		coded(c, &v.DType)
		c.float(&v.Real)
		c.float(&v.Imag)
		n := int64(v.Int)
		c.int64(&n)
		v.Int = uint64(n)
	}
}

func (c *rowCodec) evidence(e *Evidence) {
	c.text(&e.Class)
	c.text(&e.Kind)
	c.int(&e.Level)
	for _, x := range []*float64{&e.RMS, &e.RefRMS, &e.Rounding, &e.Expected, &e.Propagated, &e.Own, &e.Score, &e.Rows, &e.Channels, &e.Peak, &e.ScaleZ, &e.Noise} {
		c.float(x)
	}
	c.flag(&e.Damaged)
	c.flag(&e.BiasOfInputs)
	listed(c, &e.FedBy, c.int)
}

// text is a text with its length in front.
func (c *rowCodec) text(s *string) {
	n := int64(len(*s))
	c.int64(&n)
	switch {
	case !c.reading:
		c.to = append(c.to, *s...)
	case n < 0 || n > int64(len(c.from)):
		c.bad, c.from = true, ""
	default:
		*s, c.from = strings.Clone(c.from[:n]), c.from[n:] // what is kept of a row does not keep all of it
	}
}

func (c *rowCodec) int64(n *int64) {
	if !c.reading {
		c.to = binary.AppendVarint(c.to, *n)
		return
	}
	v, size := binary.Varint([]byte(c.from[:min(len(c.from), binary.MaxVarintLen64)]))
	if size <= 0 {
		c.bad, c.from = true, ""
		return
	}
	*n, c.from = v, c.from[size:]
}

func (c *rowCodec) int(n *int) {
	v := int64(*n)
	c.int64(&v)
	*n = int(v)
}

func coded[T ~int32](c *rowCodec, n *T) {
	v := int64(*n)
	c.int64(&v)
	*n = T(v)
}

func (c *rowCodec) float(x *float64) {
	if !c.reading {
		c.to = binary.LittleEndian.AppendUint64(c.to, math.Float64bits(*x))
		return
	}
	if len(c.from) < 8 {
		c.bad, c.from = true, ""
		return
	}
	*x, c.from = math.Float64frombits(binary.LittleEndian.Uint64([]byte(c.from[:8]))), c.from[8:]
}

func (c *rowCodec) flag(is *bool) {
	var n int64
	if *is {
		n = 1
	}
	c.int64(&n)
	*is = n != 0
}

// listed is a list; one that is nil is told from one that is empty.
func listed[T any](c *rowCodec, list *[]T, item func(*T)) {
	n := int64(len(*list)) + 1
	if *list == nil {
		n = 0
	}
	c.int64(&n)
	if c.reading {
		if n < 0 || n-1 > int64(len(c.from)) { // an item is a byte at least
			c.bad, c.from, n = true, "", 0
		}
		if *list = nil; n > 0 {
			*list = make([]T, n-1)
		}
	}
	for i := range *list {
		item(&(*list)[i])
	}
}

// pointed is what may be missing.
func pointed[T any](c *rowCodec, p **T, item func(*T)) {
	has := *p != nil
	if c.flag(&has); !has {
		return
	}
	if c.reading {
		*p = new(T)
	}
	item(*p)
}
