package noise

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"dumptool/internal/tensor"
)

// noiseJSON is the noise of a pair in a file. Numbers are in the order of
// Noise.numbers, without the first, which follows from the type.
type noiseJSON struct {
	Type     string       `json:"type"`
	Shape    tensor.Shape `json:"shape"`
	Elements int64        `json:"elements"`
	Count    int64        `json:"count"`
	Numbers  []number     `json:"numbers"`

	Bits      int   `json:"bits"`
	Constant  bool  `json:"constant,omitempty"`
	Softmax   bool  `json:"softmax,omitempty"`
	NonFinite int64 `json:"non_finite,omitempty"`
	Overflows int64 `json:"overflows,omitempty"`

	Rows     groupsJSON `json:"rows"`
	Channels groupsJSON `json:"channels"`
	// Probe are the elements of the probe, RowMean and RowStd the numbers of its rows.
	Probe   vector   `json:"probe"`
	RowMean []number `json:"row_mean,omitempty"`
	RowStd  []number `json:"row_std,omitempty"`
}

// groupsJSON are Groups; Bins are their columns one behind the other, each of a number
// a bin, in the order of Groups.columns.
type groupsJSON struct {
	Count int64  `json:"count"`
	Size  int64  `json:"size"`
	Fold  int64  `json:"fold"`
	Bins  vector `json:"bins"`
}

// number is a float64 in JSON; what is not finite are the texts nan, inf and -inf.
type number float64

// MarshalJSON implements json.Marshaler.
func (x number) MarshalJSON() ([]byte, error) {
	f := float64(x)
	switch {
	case math.IsNaN(f):
		return []byte(`"nan"`), nil
	case math.IsInf(f, 1):
		return []byte(`"inf"`), nil
	case math.IsInf(f, -1):
		return []byte(`"-inf"`), nil
	}
	return strconv.AppendFloat(nil, f, 'g', -1, 64), nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (x *number) UnmarshalJSON(data []byte) error {
	switch text := string(data); text {
	case `"nan"`:
		*x = number(math.NaN())
	case `"inf"`:
		*x = number(math.Inf(1))
	case `"-inf"`:
		*x = number(math.Inf(-1))
	default:
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsInf(f, 0) {
			return fmt.Errorf("%.40s is no number", text)
		}
		*x = number(f)
	}
	return nil
}

// vector are float32 in JSON: their bytes, the low one first, in base64.
type vector []float32

// MarshalJSON implements json.Marshaler.
func (v vector) MarshalJSON() ([]byte, error) {
	raw := make([]byte, 0, 4*len(v))
	for _, x := range v {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(x))
	}
	text := append(make([]byte, 0, 2+base64.StdEncoding.EncodedLen(len(raw))), '"')
	return append(base64.StdEncoding.AppendEncode(text, raw), '"'), nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (v *vector) UnmarshalJSON(data []byte) error {
	if len(data) < 2 || data[0] != '"' {
		return fmt.Errorf("%.40s is no text of base64", data)
	}
	raw, err := base64.StdEncoding.AppendDecode(nil, data[1:len(data)-1])
	if err != nil {
		return err
	}
	if len(raw)%4 != 0 {
		return fmt.Errorf("%d bytes of float32", len(raw))
	}
	*v = nil
	if len(raw) > 0 {
		*v = make(vector, len(raw)/4)
	}
	for i := range *v {
		(*v)[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
	}
	return nil
}

// MarshalJSON implements json.Marshaler.
func (n *Noise) MarshalJSON() ([]byte, error) {
	j := noiseJSON{Type: n.Type.Name, Shape: n.Shape, Elements: n.Elements, Count: n.Count, Bits: n.Bits,
		Constant: n.Constant, Softmax: n.Softmax, NonFinite: n.NonFinite, Overflows: n.Overflows,
		Rows: n.Rows.json(), Channels: n.Channels.json(), Probe: n.Probe.Values,
		RowMean: numbersOf(n.Probe.RowMean), RowStd: numbersOf(n.Probe.RowStd)}
	for _, x := range n.numbers()[1:] {
		j.Numbers = append(j.Numbers, number(*x))
	}
	return json.Marshal(&j)
}

func (g *Groups) json() groupsJSON {
	j := groupsJSON{Count: g.Count, Size: g.Size, Fold: g.Fold}
	for _, column := range g.columns() {
		j.Bins = append(j.Bins, *column...)
	}
	return j
}

func numbersOf(all []float64) (list []number) {
	for _, x := range all {
		list = append(list, number(x))
	}
	return list
}

func floatsOf(list []number) (all []float64) {
	for _, x := range list {
		all = append(all, float64(x))
	}
	return all
}

// UnmarshalJSON implements json.Unmarshaler. It refuses what no pair has.
func (n *Noise) UnmarshalJSON(data []byte) error {
	var j noiseJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return err
	}
	d, _ := tensor.ParseDType(j.Type)
	t, ok := TypeOf(d)
	if !ok || t.Name != j.Type {
		return fmt.Errorf("noise of the type %.40q", j.Type)
	}
	*n = Noise{Type: t, Shape: j.Shape, Elements: j.Elements, Count: j.Count, Bits: j.Bits, Constant: j.Constant, Softmax: j.Softmax,
		NonFinite: j.NonFinite, Overflows: j.Overflows,
		Probe: Probe{Values: j.Probe, RowMean: floatsOf(j.RowMean), RowStd: floatsOf(j.RowStd)}}
	to := n.numbers()[1:]
	if len(j.Numbers) != len(to) {
		return fmt.Errorf("noise of %d numbers, want %d", len(j.Numbers), len(to))
	}
	for i, x := range j.Numbers {
		*to[i] = float64(x)
	}
	if elements, ok := n.Shape.Count(); !ok || elements != n.Elements || n.Count < 0 || n.Count > n.Elements {
		return fmt.Errorf("noise of %d pairs of %d elements in the shape %s", n.Count, n.Elements, n.Shape)
	}
	for _, g := range []struct {
		to   *Groups
		from *groupsJSON
	}{{&n.Rows, &j.Rows}, {&n.Channels, &j.Channels}} {
		if err := g.to.take(g.from); err != nil {
			return err
		}
	}
	return n.Probe.check(n.Shape)
}

// take sets the groups to those that were written.
func (g *Groups) take(j *groupsJSON) error {
	*g = Groups{Count: j.Count, Size: j.Size, Fold: j.Fold}
	columns := g.columns()
	bins := len(j.Bins) / len(columns)
	if g.Count < 0 || g.Size < 0 || g.Fold < 0 || bins*len(columns) != len(j.Bins) || int64(bins) > g.Count {
		return fmt.Errorf("%d numbers of %d groups of %d elements, %d in a bin", len(j.Bins), g.Count, g.Size, g.Fold)
	}
	if bins > 0 && (g.Fold < 1 || (g.Count-1)/g.Fold != int64(bins-1)) {
		return fmt.Errorf("%d bins of %d groups, %d in a bin", bins, g.Count, g.Fold)
	}
	for i, column := range columns {
		if bins > 0 {
			*column = j.Bins[i*bins : (i+1)*bins : (i+1)*bins]
		}
	}
	return nil
}

// check reports a probe that is not of the grid of a shape.
func (p *Probe) check(shape tensor.Shape) error {
	grid := Grid(shape)
	places := tensor.Shape(grid).Elements()
	if len(p.Values) == 0 && len(p.RowMean) == 0 && len(p.RowStd) == 0 {
		return nil // squares beyond the range, or no elements
	}
	if int64(len(p.Values)) != places {
		return fmt.Errorf("probe of %d elements, want %d", len(p.Values), places)
	}
	if len(p.RowMean) != len(p.RowStd) {
		return errors.New("probe of rows without both of their numbers")
	}
	if rows := len(p.RowMean); rows > 0 && (len(grid) < 2 || int64(rows) != tensor.Shape(slices.Clone(grid[:len(grid)-1])).Elements()) {
		return fmt.Errorf("probe of %d rows in the shape %s", rows, shape)
	}
	return nil
}
