package layout

import (
	"fmt"
	"strings"

	"dumptool/internal/tensor"
)

// The named axes of convolution tensors. A 4-D tensor has D = 1.
const axisNames = "NCDHW"

// dims5 are the sizes of the named axes, in the order of axisNames.
type dims5 [len(axisNames)]int64

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

// named assigns a shape in the given order to the named axes.
func named(order string, s tensor.Shape) dims5 {
	d := dims5{1, 1, 1, 1, 1}
	for i, letter := range order {
		d[strings.IndexRune(axisNames, letter)] = s[i]
	}
	return d
}

// shape returns the sizes in the given order.
func (d dims5) shape(order string) tensor.Shape {
	s := make(tensor.Shape, len(order))
	for i, letter := range order {
		s[i] = d[strings.IndexRune(axisNames, letter)]
	}
	return s
}

// axes returns the named axes with their strides in a host array of the given
// order. An axis the order lacks has stride 0 and must be of size 1.
func (d dims5) axes(order string) []Axis {
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

// reading is one way to read a recorded shape: an axis order and the sizes it
// gives the named axes.
type reading struct {
	order tensor.Format
	dims  dims5
}

// String prints the sizes by axis, such as NHWC (N=2 H=3 W=4 C=5).
func (r reading) String() string {
	var sizes []string
	for i, n := range r.dims.shape(r.order.String()) {
		sizes = append(sizes, fmt.Sprintf("%c=%d", r.order.String()[i], n))
	}
	return fmt.Sprintf("%s (%s)", r.order, strings.Join(sizes, " "))
}

// readings lists the ways to read shape s in the order of format f: as it
// stands when the rank agrees, else by the expansion rule; for five axes first
// as four axes with D = 1.
func readings(f tensor.Format, s tensor.Shape) []reading {
	order := f.String()
	if len(s) == len(order) {
		return []reading{{f, named(order, s)}}
	}
	if len(s) == 0 || len(s) > len(order) {
		return nil
	}
	expanded := reading{f, named(expansion[f][len(s)], s)}
	if len(order) == 5 && len(s) == 4 {
		return []reading{{f, named(strings.Replace(order, "D", "", 1), s)}, expanded}
	}
	return []reading{expanded}
}
