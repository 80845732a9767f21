package plot

import (
	"image"
	"image/color"
	"image/png"
	"io"
	"math"
	"sync"

	"codeberg.org/go-fonts/liberation/liberationsansregular"
	"golang.org/x/image/font/opentype"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"

	"dumptool/internal/compare/metrics"
)

// ramp is a colour of the palette, in shades from white.
type ramp int

// The colours.
const (
	ink ramp = iota
	red
	blue
	ramps
)

const (
	shades   = 16
	fontSize = 13
	margin   = 12
)

// palette holds the shades of each ramp, beginning with white.
var palette = func() color.Palette {
	var p color.Palette
	for _, full := range [ramps]color.RGBA{{0x11, 0x18, 0x27, 0xff}, {0xc8, 0x1e, 0x1e, 0xff}, {0x25, 0x63, 0xeb, 0xff}} {
		mix := func(c uint8, k int) uint8 { return uint8(255 - (255-int(c))*k/(shades-1)) }
		for k := range shades {
			p = append(p, color.RGBA{mix(full.R, k), mix(full.G, k), mix(full.B, k), 0xff})
		}
	}
	return p
}()

// shade returns a shade of a ramp; shades-1 is the full colour.
func (r ramp) shade(k int) color.RGBA { return palette[int(r)*shades+k].(color.RGBA) }

func (r ramp) full() color.RGBA { return r.shade(shades - 1) }

// sheet is a picture being drawn. A point is a pixel.
type sheet struct {
	canvas draw.Canvas
	img    *image.RGBA
	style  text.Style
}

// fonts holds the only font of the pictures: package plot of gonum would link its collection of
// twelve fonts, and unused back ends.
var fonts = sync.OnceValue(func() *font.Cache {
	sans, err := opentype.Parse(liberationsansregular.TTF)
	if err != nil {
		panic(err) // embedded
	}
	return font.NewCache(font.Collection{{Font: sansFont, Face: sans}})
})

var sansFont = font.Font{Typeface: "Liberation", Variant: "Sans"}

func newSheet(height int) *sheet {
	c := vgimg.NewWith(vgimg.UseWH(width, vg.Length(height)), vgimg.UseDPI(int(vg.Inch)))
	return &sheet{canvas: draw.New(c), img: c.Image().(*image.RGBA), style: text.Style{
		Color: ink.full(), Handler: text.Plain{Fonts: fonts()}, Font: font.From(sansFont, fontSize),
	}}
}

// draw draws a picture of panels, one below the other, as PNG.
func (s *sheet) draw(w io.Writer, name, errors string, panels []panel) error {
	inside := s.img.Rect.Inset(margin)
	s.write(s.title(name, errors), image.Pt(margin, inside.Min.Y), draw.XLeft, draw.YTop)
	inside.Min.Y += titleBy
	each := inside.Dy() / len(panels)
	left := labelled
	for i := range panels {
		left = max(left, s.verticalAxisWidth(panels[i].y))
	}
	for i := range panels { // with a common left edge
		top := inside.Min.Y + i*each
		s.panel(&panels[i], image.Rect(inside.Min.X+left, top, inside.Max.X, top+each-margin))
	}
	return png.Encode(w, s.toPalette())
}

// title returns the line at the top; a long name loses its middle.
func (s *sheet) title(name, errors string) string {
	for most := maxName; ; most-- {
		if title := shortenLabel(name, most) + "   " + errors; most < 10 || s.style.Width(title) <= width-2*margin {
			return title
		}
	}
}

// write writes a line at a place of the picture.
func (s *sheet) write(line string, at image.Point, x text.XAlignment, y text.YAlignment) {
	style := s.style
	style.XAlign, style.YAlign = x, y
	s.canvas.FillText(style, vg.Point{X: vg.Length(at.X), Y: vg.Length(s.img.Rect.Dy() - at.Y)}, line)
}

// Space around the data of a panel, in pixels.
const (
	lineHeight = 18
	tickLength = 5
	gap        = 4
)

// verticalAxisWidth returns the width of the labels and ticks of a vertical axis.
func (s *sheet) verticalAxisWidth(a axis) int {
	widest := vg.Length(0)
	for _, t := range a {
		widest = max(widest, s.style.Width(t.label))
	}
	return int(math.Ceil(float64(widest))) + gap + tickLength
}

// panel draws a panel. Its title and the labels of its horizontal axis are within the bounds, the
// labels of the vertical axis left of them.
func (s *sheet) panel(p *panel, bounds image.Rectangle) {
	s.write(p.title, image.Pt((bounds.Min.X+bounds.Max.X)/2, bounds.Min.Y), draw.XCenter, draw.YTop)
	data := bounds
	data.Min.Y += lineHeight + gap
	data.Max.Y -= lineHeight + tickLength + gap
	if p.below != "" {
		data.Max.Y -= lineHeight
		s.write(p.below, image.Pt((data.Min.X+data.Max.X)/2, bounds.Max.Y), draw.XCenter, draw.YBottom)
	}
	if n := len(p.x); n > 0 { // half of the last label may extend beyond the last tick
		half := int(s.style.Width(p.x[n-1].label)) / 2
		data.Max.X -= max(half-int(float64(1-p.x[n-1].at)*float64(data.Dx())), 0)
	}
	all := &area{sheet: s, Rectangle: s.img.Rect}
	in := &area{sheet: s, Rectangle: data}
	all.fill(image.Rect(data.Min.X-1, data.Min.Y, data.Min.X, data.Max.Y+1), ink.full())
	all.fill(image.Rect(data.Min.X-1, data.Max.Y, data.Max.X, data.Max.Y+1), ink.full())
	for _, t := range p.x {
		x := in.column(t.at)
		all.fill(image.Rect(x, data.Max.Y, x+1, data.Max.Y+1+tickLength), ink.full())
		s.write(t.label, image.Pt(x, data.Max.Y+tickLength+gap), draw.XCenter, draw.YTop)
	}
	for _, t := range p.y {
		y := in.row(t.at)
		all.fill(image.Rect(data.Min.X-1-tickLength, y, data.Min.X, y+1), ink.full())
		s.write(t.label, image.Pt(data.Min.X-1-tickLength-gap, y), draw.XRight, draw.YCenter)
	}
	p.draw(in)
}

// toPalette returns the picture in the colours of the palette.
func (s *sheet) toPalette() *image.Paletted {
	out := image.NewPaletted(s.img.Rect, palette)
	known := map[[3]uint8]uint8{}
	var last [3]uint8
	var index uint8
	for i := range out.Pix {
		c := [3]uint8(s.img.Pix[4*i : 4*i+3])
		if c != last {
			var ok bool
			if index, ok = known[c]; !ok {
				index = uint8(palette.Index(color.RGBA{c[0], c[1], c[2], 0xff}))
				known[c] = index
			}
			last = c
		}
		out.Pix[i] = index
	}
	return out
}

// area is the place of a panel's data, in pixels.
type area struct {
	image.Rectangle
	sheet *sheet
}

// column and row convert a place from 0 to 1, from the left and from below, to pixels.
func (a *area) column(x float64) int {
	return a.Min.X + int(math.Round(float64(min(max(x, 0), 1)*float64(a.Dx()-1))))
}

func (a *area) row(y float64) int {
	return a.Max.Y - 1 - int(math.Round(float64(min(max(y, 0), 1)*float64(a.Dy()-1))))
}

// fill fills a rectangle.
func (a *area) fill(r image.Rectangle, c color.RGBA) {
	r = r.Intersect(a.Rectangle)
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			a.sheet.img.SetRGBA(x, y, c)
		}
	}
}

// text writes a text in the middle of an empty panel.
func (a *area) text(what string) {
	a.sheet.write(what, a.Min.Add(a.Max).Div(2), draw.XCenter, draw.YCenter)
}

// tickAtTop marks a non-finite value.
func (a *area) tickAtTop(x float64) {
	at := a.column(x)
	a.fill(image.Rect(at, a.Min.Y, at+1, a.Min.Y+10), ink.full())
}

// edges returns the columns of the bins' edges. A single bin with one value is centred.
func (a *area) edges(g metrics.Grid) []int {
	if g.Low == g.High {
		return []int{a.column(0.4), a.column(0.6)}
	}
	columns := make([]int, g.Count+1)
	for i := range columns {
		columns[i] = a.Min.X + a.Dx()*i/g.Count
	}
	return columns
}

// bars draws a filled histogram.
func (a *area) bars(g metrics.Grid, counts []int64, highest int64, color ramp) {
	edges := a.edges(g)
	for i, n := range counts {
		r := image.Rect(edges[i], a.row(height(n, highest)), edges[i+1], a.Max.Y)
		if r.Dx() >= 4 {
			r.Max.X-- // a gap between bars
		}
		r.Max.X = max(r.Max.X, r.Min.X+1)
		if n > 0 {
			a.fill(r, color.shade(10))
		}
	}
}

// outline draws the contour of a histogram.
func (a *area) outline(g metrics.Grid, counts []int64, highest int64, color ramp) {
	const thick = 2
	edges := a.edges(g)
	before := a.Max.Y - 1
	vertical := func(x, y0, y1 int) {
		a.fill(image.Rect(x, min(y0, y1), x+thick, max(y0, y1)+thick), color.full())
	}
	for i, n := range counts {
		y := a.row(height(n, highest))
		vertical(edges[i], before, y)
		a.fill(image.Rect(edges[i], y, edges[i+1]+thick, y+thick), color.full())
		before = y
	}
	vertical(min(edges[len(edges)-1], a.Max.X-thick), before, a.Max.Y-1)
}

// label is an entry of a legend.
type label struct {
	text   string
	color  ramp
	filled bool
}

// legend draws a legend above the data, at the right.
func (a *area) legend(labels []label) {
	const size, each, above = 12, 60, 20
	over := *a
	over.Min.Y = 0
	for i, l := range labels {
		box := image.Rect(0, 0, size, size).Add(image.Pt(a.Max.X-each*(len(labels)-i), a.Min.Y-above))
		if l.filled {
			over.fill(box, l.color.shade(10))
		} else {
			over.fill(box, l.color.full())
			over.fill(box.Inset(2), ink.shade(0))
		}
		a.sheet.write(l.text, image.Pt(box.Max.X+6, box.Min.Y-1), draw.XLeft, draw.YTop)
	}
}

// dots draws errors in a panel: as round dots, or as pixels whose shade shows the number of errors.
type dots struct {
	area  *area
	round bool
	count []uint8 // per pixel
}

func newDots(a *area, round bool) *dots {
	return &dots{a, round, make([]uint8, a.Dx()*a.Dy())}
}

// add adds an error at a place from 0 to 1.
func (d *dots) add(x, y float64) {
	at := image.Pt(d.area.column(x), d.area.row(y))
	if d.round {
		around := area{Rectangle: d.area.Inset(-2), sheet: d.area.sheet}
		around.fill(image.Rect(-2, -1, 3, 2).Add(at), red.full())
		around.fill(image.Rect(-1, -2, 2, 3).Add(at), red.full())
		return
	}
	if n := &d.count[(at.Y-d.area.Min.Y)*d.area.Dx()+at.X-d.area.Min.X]; *n < 255 {
		*n++
	}
}

// draw draws the pixels.
func (d *dots) draw() {
	for i, n := range d.count {
		if n == 0 {
			continue
		}
		shade := 7
		switch {
		case n >= 4:
			shade = shades - 1
		case n >= 2:
			shade = 11
		}
		d.area.sheet.img.SetRGBA(d.area.Min.X+i%d.area.Dx(), d.area.Min.Y+i/d.area.Dx(), red.shade(shade))
	}
}
