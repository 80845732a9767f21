// Package plot draws the pictures of a failing operator that HPAA promises: its errors by position,
// the distribution of the errors, and the distribution of both sides' values. The pictures are PNG
// files with few colours and depend only on the data: no clock, and no fonts but the linked one.
//
// gonum/plot's vg draws texts; lines and data are set pixel by pixel, since vg takes seconds for
// thousands of lines and glyphs.
package plot

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/exact"
)

// File is a picture: the suffix of its name behind the operator's, and its content.
type File struct {
	Suffix string
	PNG    []byte
}

// The suffixes of the pictures' names.
const (
	ErrorsSuffix     = "_diff.png"
	ErrorBinsSuffix  = "_diff_hist.png"
	ValuesSuffix     = "_hist.png"
	width            = 960
	tall, low        = 640, 480
	maxName, titleBy = 90, 36
	// labelled is the width reserved for the labels of an axis of counts, in pixels.
	labelled = 48
)

// Suffixes returns the suffixes of the pictures' names.
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
			scatterOf(p, "|npu - cpu|", 0, func(e metrics.SampledError) float64 { return e.Abs }, p.Diff.Abs.Grid()),
			scatterOf(p, "|npu - cpu| / |cpu|", p.Sample.Undefined, func(e metrics.SampledError) float64 { return e.Rel }, p.Diff.Rel.Grid()),
		}},
		{ErrorBinsSuffix, tall, []panel{
			histogramOf("errors by |npu - cpu|", p.Sample.NonFiniteErrors, 0, p.Diff.Abs),
			histogramOf("errors by |npu - cpu| / |cpu|", p.Sample.NonFiniteErrors, p.Sample.Undefined, p.Diff.Rel),
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

// errorsText formats the number of erroneous elements.
func errorsText(p *metrics.Pictures) string {
	share := 0.0
	if p.Total > 0 {
		share = 100 * float64(p.Errors) / float64(p.Total)
	}
	return fmt.Sprintf("%d of %d elements are errors (%s %%)", p.Errors, p.Total, strconv.FormatFloat(share, 'g', 3, 64))
}

// escape escapes everything but printable ASCII, since the font lacks it.
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

// shortenLabel replaces the middle of an ASCII text longer than most bytes.
func shortenLabel(name string, most int) string {
	if len(name) <= most {
		return name
	}
	const dots = "..."
	head := (most - len(dots) + 1) / 2
	return name[:head] + dots + name[len(name)-(most-len(dots)-head):]
}

// panelCaption joins a panel's title and remarks.
func panelCaption(title string, more ...string) string {
	for _, s := range more {
		if s != "" {
			title += "   " + s
		}
	}
	return title
}

// countText formats a number, empty for 0.
func countText(n int64, format string) string {
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

// axis holds the ticks of an axis, from 0 to 1.
type axis []tick

type tick struct {
	at    float64
	label string
}

// axisNumber formats a number beside an axis.
func axisNumber(x float64, digits int) string {
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

// linear returns ticks from low to high at multiples of 1, 2 or 5 times a power of ten.
func linear(low, high float64) axis {
	span := high - low
	if !(span > 1e-300 && span < 1e300) || span < 1e-14*max(math.Abs(low), math.Abs(high)) {
		return endTicks(low, high)
	}
	step := stepOf(span / 6)
	first, last := math.Ceil(low/step), math.Floor(high/step)
	digits := len(strconv.FormatFloat(max(math.Abs(first), math.Abs(last)), 'f', 0, 64)) + 1
	var a axis
	for i := first; i <= last && len(a) < 20; i++ {
		x := float64(i * step)
		a = append(a, tick{(x - low) / span, axisNumber(x, max(min(digits, 17), 2))})
	}
	if len(a) < 2 {
		return endTicks(low, high)
	}
	return a
}

// stepOf returns the smallest of 1, 2 and 5 times a power of ten that is at least x.
func stepOf(x float64) float64 {
	power := math.Pow10(int(math.Floor(log10(x))))
	for _, factor := range []float64{1, 2, 5} {
		if factor*power >= x {
			return factor * power
		}
	}
	return 10 * power
}

// endTicks returns ticks at both ends.
func endTicks(low, high float64) axis {
	if low == high {
		return axis{{0.5, axisNumber(low, 6)}}
	}
	a, b := axisNumber(low, 6), axisNumber(high, 6)
	if a == b {
		a, b = axisNumber(low, 17), axisNumber(high, 17)
	}
	return axis{{0, a}, {1, b}}
}

// decades returns ticks at powers of ten, from 10^low to 10^high, about 8 at most.
func decades(low, high float64) axis {
	first, last := math.Ceil(low), math.Floor(high)
	every := math.Ceil((last - first + 1) / 8)
	var a axis
	for k := first; k <= last && len(a) < 20; k += max(every, 1) {
		a = append(a, tick{(k - low) / (high - low), "1e" + strconv.Itoa(int(k))})
	}
	return a
}

func log10(x float64) float64 { return exact.Log10(x) }

const (
	// mostDecades is the largest range of an axis of errors in powers of ten: smaller errors are
	// drawn on the axis.
	mostDecades = 9
	// mostDots is the largest number of errors drawn as dots; more are drawn as pixels.
	mostDots = 5000
)

// scatterOf draws errors by position. Zeros and undefined errors are omitted, non-finite errors are
// ticks at the top.
func scatterOf(p *metrics.Pictures, what string, undefined int64, of func(metrics.SampledError) float64, g metrics.Grid) panel {
	every := ""
	if p.Sample.Every > 1 {
		every = "every " + ordinal(p.Sample.Every) + " error and the worst"
	}
	panel := panel{
		title: panelCaption(what, every, countText(undefined, "%d not shown: reference 0"), countText(p.Sample.NonFiniteErrors, "%d not finite: ticks at the top")),
		below: "element",
		x:     linear(0, float64(p.Total)),
	}
	bottom, top := 0.0, 0.0
	if g.Count > 0 && g.High > 0 {
		bottom, top = decadesOf(g.Low, g.High)
		panel.y = decades(bottom, top)
	}
	panel.draw = func(a *area) {
		if g.Count == 0 && p.Sample.NonFiniteErrors == 0 {
			a.text("no finite errors")
			return
		}
		for i := range metrics.Marks {
			if p.Sample.IsMarked(i) {
				a.tickAtTop((float64(i) + 0.5) * float64(p.Sample.RunLength) / float64(max(p.Total, 1)))
			}
		}
		dots := newDots(a, len(p.Sample.Errors) <= mostDots)
		for _, e := range p.Sample.Errors {
			x, y := float64(e.Offset)/float64(p.Total), of(e)
			switch {
			case math.IsNaN(y):
			case math.IsInf(y, 0):
				a.tickAtTop(x)
			case y == 0 || top == bottom:
				dots.add(x, 0)
			default:
				dots.add(x, max((log10(y)-bottom)/(top-bottom), 0))
			}
		}
		dots.draw()
	}
	return panel
}

// decadesOf returns the powers of ten around errors.
func decadesOf(smallest, largest float64) (bottom, top float64) {
	top = math.Ceil(log10(largest))
	bottom = top - mostDecades
	if smallest > 0 {
		bottom = max(bottom, math.Floor(log10(smallest)))
	}
	return min(bottom, top-1), top
}

// ordinal formats 2nd, 3rd and so on.
func ordinal(n int64) string {
	suffix := "th"
	if n/10%10 != 1 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return fmt.Sprint(n) + suffix
}

// histogramOf draws the distribution of the errors' sizes.
func histogramOf(what string, nonFinite, undefined int64, b metrics.Bins) panel {
	grid := b.Grid()
	p := counts(grid, b.Counts)
	scale := ""
	if b.Log {
		scale = "log scale, bins equal in log10"
	}
	p.title = panelCaption(what, binsText(grid), scale, countText(undefined, "%d not shown: reference 0"), countText(nonFinite, "%d not finite: not shown"))
	p.draw = func(a *area) {
		if grid.Count == 0 {
			a.text("no finite errors")
			return
		}
		a.bars(grid, b.Counts, maxOfSides(b.Counts), red)
	}
	return p
}

func binsText(g metrics.Grid) string {
	if g.Count == 1 {
		return "1 bin"
	}
	return countText(int64(g.Count), "%d bins")
}

// valuesOf draws the distributions of both sides' values.
func valuesOf(p *metrics.Pictures) panel {
	grid := p.Values.Grid()
	d := counts(grid, p.Values.Ref, p.Values.NPU)
	d.title = panelCaption("values", binsText(grid), nonFinite("CPU", &p.RefStats), nonFinite("NPU", &p.NPUStats))
	d.draw = func(a *area) {
		if grid.Count == 0 {
			a.text("no finite values")
			return
		}
		highest := maxOfSides(p.Values.Ref, p.Values.NPU)
		a.bars(grid, p.Values.Ref, highest, blue)
		a.outline(grid, p.Values.NPU, highest, red)
		a.legend([]label{{"CPU", blue, true}, {"NPU", red, false}})
	}
	return d
}

// nonFinite describes the values of a side that have no bin.
func nonFinite(side string, s *metrics.SideStats) string {
	var parts []string
	for _, x := range []struct {
		n    int64
		what string
	}{{s.PosInf, "inf"}, {s.NegInf, "-inf"}, {s.NaN, "NaN"}} {
		if x.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", x.n, x.what))
		}
	}
	if parts == nil {
		return ""
	}
	return side + ": " + strings.Join(parts, ", ") + " not shown"
}

// counts returns the axes of histograms on one grid.
func counts(g metrics.Grid, sides ...[]int64) panel {
	var p panel
	if g.Count == 0 {
		return p
	}
	switch {
	case g.Low == g.High:
		p.x = endTicks(g.Low, g.High)
	case g.Log:
		if p.x = decades(log10(g.Low), log10(g.High)); len(p.x) < 2 {
			p.x = endTicks(g.Low, g.High)
		}
	default:
		p.x = linear(g.Low, g.High)
	}
	highest := maxOfSides(sides...)
	p.y = axis{{0, "0"}}
	for n := int64(1); n <= highest; n *= 10 {
		p.y = append(p.y, tick{height(n, highest), fmt.Sprint(n)})
		if n > math.MaxInt64/10 {
			break
		}
	}
	return p
}

func maxOfSides(sides ...[]int64) int64 {
	highest := int64(0)
	for _, counts := range sides {
		highest = max(highest, slices.Max(append([]int64{0}, counts...)))
	}
	return highest
}

// height returns the height of a bar: log10(n+1) relative to the highest bar, slightly below the
// edge.
func height(n, highest int64) float64 {
	return 0.97 * log10(float64(n)+1) / log10(float64(max(highest, 1))+1)
}
