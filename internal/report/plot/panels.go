package plot

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/exact"
)

func log10(x float64) float64 { return exact.Log10(x) }

const (
	// mostDecades is the most powers of ten of an axis of errors: what is smaller
	// sits on the axis.
	mostDecades = 9
	// mostDots is the most errors that are drawn as dots; more are a pixel each.
	mostDots = 5000
)

// scatterOf draws errors by their places. Zeros and what is not defined are left out, what
// is not finite is a tick at the top.
func scatterOf(p *metrics.Pictures, what string, undefined int64, of func(metrics.SampledError) float64, g metrics.Grid) panel {
	every := ""
	if p.Every > 1 {
		every = "every " + ordinal(p.Every) + " error and the worst"
	}
	panel := panel{
		title: notes(what, every, counted(undefined, "%d not shown: reference 0"), counted(p.NonFiniteErrors, "%d not finite: ticks at the top")),
		below: "element",
		x:     linear(0, float64(p.Total)),
	}
	bottom, top := 0.0, 0.0
	if g.Count > 0 && g.High > 0 {
		bottom, top = decadesOf(g.Low, g.High)
		panel.y = decades(bottom, top)
	}
	panel.draw = func(a *area) {
		if g.Count == 0 && p.NonFiniteErrors == 0 {
			a.text("no finite errors")
			return
		}
		for i, marked := range p.NonFinite {
			if marked {
				a.tickAtTop((float64(i) + 0.5) * float64(p.RunLength) / float64(max(p.Total, 1)))
			}
		}
		dots := newDots(a, len(p.Sampled) <= mostDots)
		for _, e := range p.Sampled {
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

// ordinal prints 2nd, 3rd and so on.
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

// histogramOf draws how many errors there are of each size.
func histogramOf(what string, nonFinite, undefined int64, b metrics.Bins) panel {
	p := counts(b.Grid, b.Counts)
	scale := ""
	if b.Log {
		scale = "log scale, bins equal in log10"
	}
	p.title = notes(what, binsText(b.Grid), scale, counted(undefined, "%d not shown: reference 0"), counted(nonFinite, "%d not finite: not shown"))
	p.draw = func(a *area) {
		if b.Count == 0 {
			a.text("no finite errors")
			return
		}
		a.bars(b.Grid, b.Counts, most(b.Counts), red)
	}
	return p
}

func binsText(g metrics.Grid) string {
	if g.Count == 1 {
		return "1 bin"
	}
	return counted(int64(g.Count), "%d bins")
}

// valuesOf draws how many elements of both sides there are of each value.
func valuesOf(p *metrics.Pictures) panel {
	d := counts(p.Values.Grid, p.Values.Ref, p.Values.NPU)
	d.title = notes("values", binsText(p.Values.Grid), nonFinite("CPU", &p.RefStats), nonFinite("NPU", &p.NPUStats))
	d.draw = func(a *area) {
		if p.Values.Count == 0 {
			a.text("no finite values")
			return
		}
		highest := most(p.Values.Ref, p.Values.NPU)
		a.bars(p.Values.Grid, p.Values.Ref, highest, blue)
		a.outline(p.Values.Grid, p.Values.NPU, highest, red)
		a.legend([]label{{"CPU", blue, true}, {"NPU", red, false}})
	}
	return d
}

// nonFinite says what of a side has no bin.
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

// counts returns the axes of histograms of one grid.
func counts(g metrics.Grid, sides ...[]int64) panel {
	var p panel
	if g.Count == 0 {
		return p
	}
	switch {
	case g.Low == g.High:
		p.x = ends(g.Low, g.High)
	case g.Log:
		if p.x = decades(log10(g.Low), log10(g.High)); len(p.x) < 2 {
			p.x = ends(g.Low, g.High)
		}
	default:
		p.x = linear(g.Low, g.High)
	}
	highest := most(sides...)
	p.y = axis{{0, "0"}}
	for n := int64(1); n <= highest; n *= 10 {
		p.y = append(p.y, tick{height(n, highest), fmt.Sprint(n)})
		if n > math.MaxInt64/10 {
			break
		}
	}
	return p
}

func most(sides ...[]int64) int64 {
	highest := int64(0)
	for _, counts := range sides {
		highest = max(highest, slices.Max(append([]int64{0}, counts...)))
	}
	return highest
}

// height is that of a bar: log10(n+1) of that of the highest, below the edge.
func height(n, highest int64) float64 {
	return 0.97 * log10(float64(n)+1) / log10(float64(max(highest, 1))+1)
}
