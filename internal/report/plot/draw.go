// Package plot draws the pictures of a failing operator that HPAA promises: its
// errors by their places, the distribution of the errors, and that of the values of
// both sides. The pictures are PNG files of a few colours. They are a function of the
// data alone: no clock, no fonts but those that are linked.
//
// Texts are drawn by gonum/plot's vg; lines and what is plotted are set pixel by
// pixel, since its lines and glyphs take seconds where there are thousands.
package plot

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"

	"dumptool/internal/compare/metrics"
)

// File is a picture: what stands in its name behind that of the operator, and its
// content.
type File struct {
	Suffix string
	PNG    []byte
}

// The ends of the names of the pictures.
const (
	ErrorsSuffix     = "_diff.png"
	ErrorBinsSuffix  = "_diff_hist.png"
	ValuesSuffix     = "_hist.png"
	width            = 960
	tall, low        = 640, 480
	maxName, titleBy = 90, 36
	// labelled is what the labels of an axis of counts take at most.
	labelled = 48
)

// Suffixes are the ends of the names of the pictures.
func Suffixes() []string { return []string{ErrorsSuffix, ErrorBinsSuffix, ValuesSuffix} }

// Draw draws the pictures of a tensor.
func Draw(name string, p *metrics.Pictures) ([]File, error) {
	var files []File
	for _, f := range []struct {
		suffix string
		height int
		panels []panel
	}{
		{ErrorsSuffix, tall, []panel{
			scatterOf(p, "|npu - cpu|", 0, func(e metrics.SampledError) float64 { return e.Abs }, p.Abs.Grid),
			scatterOf(p, "|npu - cpu| / |cpu|", p.Undefined, func(e metrics.SampledError) float64 { return e.Rel }, p.Rel.Grid),
		}},
		{ErrorBinsSuffix, tall, []panel{
			histogramOf("errors by |npu - cpu|", p.NonFiniteErrors, 0, p.Abs),
			histogramOf("errors by |npu - cpu| / |cpu|", p.NonFiniteErrors, p.Undefined, p.Rel),
		}},
		{ValuesSuffix, low, []panel{valuesOf(p)}},
	} {
		var b bytes.Buffer
		if err := newSheet(f.height).draw(&b, escape(name), errorsText(p), f.panels); err != nil {
			return nil, err
		}
		files = append(files, File{f.suffix, b.Bytes()})
	}
	return files, nil
}

// errorsText says how many elements are errors.
func errorsText(p *metrics.Pictures) string {
	share := 0.0
	if p.Total > 0 {
		share = 100 * float64(p.Errors) / float64(p.Total)
	}
	return fmt.Sprintf("%d of %d elements are errors (%s %%)", p.Errors, p.Total, strconv.FormatFloat(share, 'g', 3, 64))
}

// escape replaces what is not printable ASCII, for which there is no font.
func escape(name string) string {
	var b strings.Builder
	for _, r := range name {
		switch {
		case r >= ' ' && r <= '~':
			b.WriteRune(r)
		case r > 0xffff:
			fmt.Fprintf(&b, `\U%08X`, r)
		default:
			fmt.Fprintf(&b, `\u%04X`, r)
		}
	}
	return b.String()
}

// cut leaves out the middle of what is longer than some bytes of ASCII.
func cut(name string, most int) string {
	if len(name) <= most {
		return name
	}
	const dots = "..."
	head := (most - len(dots) + 1) / 2
	return name[:head] + dots + name[len(name)-(most-len(dots)-head):]
}

// notes joins what a panel says of itself.
func notes(title string, more ...string) string {
	for _, s := range more {
		if s != "" {
			title += "   " + s
		}
	}
	return title
}

// counted is a note that says how many there are, none for 0.
func counted(n int64, format string) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(format, n)
}

// panel is one diagram of a picture.
type panel struct {
	title, below string
	x, y         axis
	draw         func(a *area)
}

// axis are the ticks of an axis from 0 to 1.
type axis []tick

type tick struct {
	at    float64
	label string
}

// number prints a number beside an axis.
func number(x float64, digits int) string {
	text := strconv.FormatFloat(x+0, 'g', digits, 64)
	if x = math.Abs(x); x != 0 && (x < 1e-4 || x >= 1e7) {
		return text
	}
	rounded, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return text
	}
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}

// linear returns ticks from low to high at multiples of 1, 2 or 5 times a power of
// ten.
func linear(low, high float64) axis {
	span := high - low
	if !(span > 1e-300 && span < 1e300) || span < 1e-14*max(math.Abs(low), math.Abs(high)) {
		return ends(low, high)
	}
	step := stepOf(span / 6)
	first, last := math.Ceil(low/step), math.Floor(high/step)
	digits := len(strconv.FormatFloat(max(math.Abs(first), math.Abs(last)), 'f', 0, 64)) + 1
	var a axis
	for i := first; i <= last && len(a) < 20; i++ {
		x := float64(i * step)
		a = append(a, tick{(x - low) / span, number(x, max(min(digits, 17), 2))})
	}
	if len(a) < 2 {
		return ends(low, high)
	}
	return a
}

// stepOf is the least of 1, 2 and 5 times a power of ten that is not less than x.
func stepOf(x float64) float64 {
	power := math.Pow10(int(math.Floor(log10(x))))
	for _, factor := range []float64{1, 2, 5} {
		if factor*power >= x {
			return factor * power
		}
	}
	return 10 * power
}

// ends returns ticks at both ends.
func ends(low, high float64) axis {
	if low == high {
		return axis{{0.5, number(low, 6)}}
	}
	a, b := number(low, 6), number(high, 6)
	if a == b {
		a, b = number(low, 17), number(high, 17)
	}
	return axis{{0, a}, {1, b}}
}

// decades returns ticks at powers of ten, from 10^low to 10^high, at most about 8.
func decades(low, high float64) axis {
	first, last := math.Ceil(low), math.Floor(high)
	every := math.Ceil((last - first + 1) / 8)
	var a axis
	for k := first; k <= last && len(a) < 20; k += max(every, 1) {
		a = append(a, tick{(k - low) / (high - low), "1e" + strconv.Itoa(int(k))})
	}
	return a
}
