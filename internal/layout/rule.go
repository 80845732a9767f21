package layout

import (
	"fmt"
	"strings"

	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// params are the parameters of a layout besides the host sizes. The block sizes come from the
// device shape if there is one.
type params struct {
	c0     int64 // channel block size
	n0     int64 // cout block of the FRACTAL_Z family, row block of FRACTAL_NZ
	cout   int64 // output channels of a group are rounded up to a multiple of it, usually 16
	groups int64 // 1 for none
	hidden int64 // hidden size of an RNN, 0 if not given
	input  int64 // input size of an RNN, 0 if not given
}

// relation is the required size of one dimension of a device shape, and its formula.
type relation struct {
	name    string // of the device dimension, such as C1
	formula string // such as ceil(C/C0)
	want    int64
	atLeast bool // the dimension may be larger
}

// rule is a device layout of host axes with names (N, C, D, H, W).
type rule struct {
	format tensor.Format
	rank   int   // of the device shape
	c0     int64 // the channel block that the layout fixes, 0 for none
	axes3D bool
	// grouped: the groups of a convolution change the layout.
	grouped bool
	foldHW  bool // the offset depends on h*W + w only, not on h and w separately
	// blocks infers the block sizes from a device shape of the right rank.
	blocks func(dev tensor.Shape, p *params)
	// relations returns the device shape for host sizes, dimension by dimension.
	relations func(d axisSizes, p params) ([]relation, error)
	// place returns the offsets in a device buffer of shape dev.
	place func(d axisSizes, dev tensor.Shape, p params) blockList
	// padded returns the host sizes of the whole device buffer, padding included; nil if the device
	// shape does not determine them.
	padded func(dev tensor.Shape) axisSizes
}

// rules holds the layouts of named axes. A new layout needs a file, a line here, and vectors in the
// tests.
var rules = []*rule{
	&nc1hwc0, &nc1hwc0C04, &ndc1hwc0, &c1hwc0, &c1hwncoc0,
	&fractalZ, &fractalZ3D, &fractalZ3DTranspose, &fractalZC04, &fractalZWino, &fractalZNLSTM,
}

func ruleOf(f tensor.Format) *rule {
	for _, r := range rules {
		if r.format == f {
			return r
		}
	}
	return nil
}

// hostFormats lists the host orders of the rule's axes.
func (r *rule) hostFormats() []tensor.Format {
	if r.axes3D {
		return hostOrders[4:]
	}
	return hostOrders[:4]
}

// isAxisOrder reports whether f is an order of the axes of the rule.
func (r *rule) isAxisOrder(f tensor.Format) bool {
	order, ok := Order(f)
	return ok && (len(order) == 5) == r.axes3D
}

// inferBlocks returns p with the block sizes of a device shape.
func (r *rule) inferBlocks(dev tensor.Shape, p params) (params, error) {
	if len(dev) != r.rank {
		return p, &ShapeError{Format: r.format, Stored: dev,
			Relation: lang.Say("rank is %d, want %d", len(dev), r.rank)}
	}
	r.blocks(dev, &p)
	if p.c0 <= 0 || p.n0 <= 0 {
		return p, &ShapeError{Format: r.format, Stored: dev, Relation: lang.Say("a block size is 0")}
	}
	return p, nil
}

// checkSizes checks device shape dev against host sizes d.
func (r *rule) checkSizes(d axisSizes, dev tensor.Shape, p params) error {
	want, err := r.relations(d, p)
	if err != nil {
		return err
	}
	return matchDimensions(r.format, d.shape(r.printOrder()), dev, dev, want)
}

// printOrder is the order in which host sizes are printed: NCHW or NCDHW.
func (r *rule) printOrder() string { return r.hostFormats()[0].String() }

// matchDimensions compares part of a device shape with the relations, dimension by dimension.
func matchDimensions(f tensor.Format, host, dev, part tensor.Shape, want []relation) error {
	if len(want) != len(part) {
		return &ShapeError{Format: f, Stored: dev, Host: host,
			Relation: lang.Say("rank is %d, want %d", len(part), len(want))}
	}
	for i, w := range want {
		if part[i] == w.want || w.atLeast && part[i] > w.want {
			continue
		}
		text := lang.Say("%s is %d, want %s = %d", w.name, part[i], w.formula, w.want)
		if w.name == w.formula {
			text = lang.Say("%s is %d, want %d", w.name, part[i], w.want)
		}
		return &ShapeError{Format: f, Stored: dev, Host: host, Relation: text}
	}
	return nil
}

func shapeOf(want []relation) tensor.Shape {
	s := make(tensor.Shape, len(want))
	for i, w := range want {
		s[i] = w.want
	}
	return s
}

// mapTo makes the map of host sizes d in the given host order.
func (r *rule) mapTo(d axisSizes, dev tensor.Shape, p params, order string) *Map {
	m := &Map{Device: dev, Axes: d.axes(order), blocks: r.place(d, dev, p)}
	if r.foldHW {
		// H and W are neighbours in every host order of four axes.
		m.Axes[axW].Size *= m.Axes[axH].Size
		m.Axes[axH] = Axis{Size: 1}
	}
	return m
}

// ShapeError is the error of a shape that does not fit its layout.
type ShapeError struct {
	Format   tensor.Format
	Stored   tensor.Shape  // of the tensor in the file, or to be made
	Host     tensor.Shape  // empty if only the stored shape is wrong
	Relation lang.Sentence // the relation that does not hold: found and wanted
}

func (e *ShapeError) Error() string { return e.Text().String() }

// Text is the error in both languages.
func (e *ShapeError) Text() lang.Text {
	kind := lang.Text{EN: "device"}
	if IsHost(e.Format) {
		kind = lang.Text{EN: "stored"}
	}
	switch {
	case len(e.Host) == 0:
		return lang.Say("%s %s shape %v is not valid: %s", e.Format, kind, e.Stored, e.Relation).Text()
	case len(e.Stored) == 0:
		return lang.Say("%s cannot hold host shape %v: %s", e.Format, e.Host, e.Relation).Text()
	}
	return lang.Say("%s %s shape %v does not fit host shape %v: %s", e.Format, kind, e.Stored, e.Host, e.Relation).Text()
}

// UnsupportedError is the error of a conversion that does not exist.
type UnsupportedError struct {
	From, To tensor.Format
	Why      lang.Sentence // optional
}

func (e *UnsupportedError) Error() string { return e.Text().String() }

// Text is the error in both languages.
func (e *UnsupportedError) Text() lang.Text {
	if e.Why.IsZero() {
		return lang.Say("no conversion from %s to %s", e.From, e.To).Text()
	}
	return lang.Say("no conversion from %s to %s: %s", e.From, e.To, e.Why).Text()
}

// MissingError is the error of a fact that the file does not record: the user must give it.
type MissingError struct {
	Format tensor.Format
	What   lang.Sentence
}

func (e *MissingError) Error() string { return e.Text().String() }

// Text is the error in both languages.
func (e *MissingError) Text() lang.Text {
	return lang.Say("%s cannot be converted without %s", e.Format, e.What).Text()
}

// The named axes of convolution tensors. A 4-D tensor has D = 1.
const axisNames = "NCDHW"

// axisSizes are the sizes of the named axes, in the order of axisNames.
type axisSizes [len(axisNames)]int64

const (
	axN = iota
	axC
	axD
	axH
	axW
)

// hostOrders are the host formats with named axes.
var hostOrders = []tensor.Format{
	tensor.NCHW, tensor.HWCN, tensor.NHWC, tensor.CHWN,
	tensor.NCDHW, tensor.NDHWC, tensor.DHWCN, tensor.DHWNC,
}

// Order returns the axis letters of a host format in their order, such as
// NHWC; ok is false for formats without named axes (ND and device layouts).
func Order(f tensor.Format) (letters string, ok bool) {
	for _, o := range hostOrders {
		if o == f {
			return f.String(), true
		}
	}
	return "", false
}

// IsHost reports whether f is an order of host axes rather than a device layout.
func IsHost(f tensor.Format) bool {
	_, ok := Order(f)
	return ok || f == tensor.ND || f == tensor.NC || f == tensor.CN || f == tensor.NCL || f == tensor.MD
}

// nameAxes assigns a shape in the given order to the named axes.
func nameAxes(order string, s tensor.Shape) axisSizes {
	d := axisSizes{1, 1, 1, 1, 1}
	for i, letter := range order {
		d[strings.IndexRune(axisNames, letter)] = s[i]
	}
	return d
}

// shape returns the sizes in the given order.
func (d axisSizes) shape(order string) tensor.Shape {
	s := make(tensor.Shape, len(order))
	for i, letter := range order {
		s[i] = d[strings.IndexRune(axisNames, letter)]
	}
	return s
}

// axes returns the named axes with their strides in a host array of the given order. An axis
// that is not in the order has stride 0 and must have size 1.
func (d axisSizes) axes(order string) []Axis {
	axes := make([]Axis, len(d))
	strides := d.shape(order).Strides()
	for i, size := range d {
		axes[i].Size = size
		if at := strings.IndexByte(order, axisNames[i]); at >= 0 {
			axes[i].Stride = strides[at]
		}
	}
	return axes
}

// expansion is the default assignment of the axes of a host tensor of lower
// rank, indexed by rank; missing axes are 1 (the graph engine's expand-dims
// rule).
var expansion = map[tensor.Format][5]string{
	tensor.NCHW:  {1: "C", 2: "CH", 3: "CHW"},
	tensor.NHWC:  {1: "C", 2: "HW", 3: "HWC"},
	tensor.HWCN:  {1: "C", 2: "CN", 3: "WCN"},
	tensor.CHWN:  {1: "C", 2: "WN", 3: "HWN"},
	tensor.NCDHW: {1: "C", 2: "HW", 3: "DHW", 4: "CDHW"},
	tensor.NDHWC: {1: "C", 2: "WC", 3: "HWC", 4: "DHWC"},
	tensor.DHWCN: {1: "C", 2: "CN", 3: "WCN", 4: "HWCN"},
	tensor.DHWNC: {1: "C", 2: "NC", 3: "WNC", 4: "HWNC"},
}

// shapeReading is one interpretation of a recorded shape: an axis order and the resulting sizes of
// the named axes.
type shapeReading struct {
	order tensor.Format
	dims  axisSizes
}

// String prints the sizes by axis, such as NHWC (N=2 H=3 W=4 C=5).
func (r shapeReading) String() string {
	var sizes []string
	for i, n := range r.dims.shape(r.order.String()) {
		sizes = append(sizes, fmt.Sprintf("%c=%d", r.order.String()[i], n))
	}
	return fmt.Sprintf("%s (%s)", r.order, strings.Join(sizes, " "))
}

// shapeReadings lists the interpretations of shape s in the order of format f: with as many axes as the
// order as it is, otherwise by the expansion rule. Four dimensions in an order of five axes are
// first read with D = 1.
func shapeReadings(f tensor.Format, s tensor.Shape) []shapeReading {
	order := f.String()
	if len(s) == len(order) {
		return []shapeReading{{f, nameAxes(order, s)}}
	}
	if len(s) == 0 || len(s) > len(order) {
		return nil
	}
	expanded := shapeReading{f, nameAxes(expansion[f][len(s)], s)}
	if len(order) == 5 && len(s) == 4 {
		return []shapeReading{{f, nameAxes(strings.Replace(order, "D", "", 1), s)}, expanded}
	}
	return []shapeReading{expanded}
}
