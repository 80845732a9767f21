package browsertest

import (
	"bytes"
	"flag"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/chromedp/chromedp"
)

var update = flag.Bool("update", false, "write docs/page.png and docs/check.png")

// TestScreenshot makes docs/page.png, the picture that the README shows, and docs/check.png; -update writes them:
// browsers of other versions draw other pixels.
func TestScreenshot(t *testing.T) {
	file, _ := compared(t, resNet())
	kept(t, "page.png", file)
	kept(t, "check.png", checkedPage(t))
}

// kept makes a picture of a page, and compares its size with the picture in docs.
func kept(t *testing.T, name, page string) {
	t.Helper()
	const most = 200 << 10
	b := open(t, page, view{width: 1280, height: 1120})
	var shot []byte
	b.do(chromedp.CaptureScreenshot(&shot))
	text := withPalette(t, shot)
	if len(text) > most {
		t.Errorf("the picture has %d bytes, want at most %d", len(text), most)
	}
	kept := filepath.Join("..", "..", "docs", name)
	if *update {
		if err := os.WriteFile(kept, text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	old, err := os.ReadFile(kept)
	if err != nil {
		t.Fatal(err)
	}
	a, err := png.DecodeConfig(bytes.NewReader(old))
	if err != nil {
		t.Fatal(err)
	}
	now, err := png.DecodeConfig(bytes.NewReader(text))
	if err != nil || a.Width != now.Width || a.Height != now.Height {
		t.Errorf("docs/%s is %d x %d, this one %d x %d (-update writes it)", name, a.Width, a.Height, now.Width, now.Height)
	}
}

// withPalette is a picture in 256 colours: those that most of its pixels have.
func withPalette(t *testing.T, shot []byte) []byte {
	t.Helper()
	full, err := png.Decode(bytes.NewReader(shot))
	if err != nil {
		t.Fatal(err)
	}
	counts := map[color.RGBA]int{}
	box := full.Bounds()
	for y := box.Min.Y; y < box.Max.Y; y++ {
		for x := box.Min.X; x < box.Max.X; x++ {
			r, g, b, _ := full.At(x, y).RGBA()
			counts[color.RGBA{uint8(r>>8) &^ 7, uint8(g>>8) &^ 7, uint8(b>>8) &^ 7, 255}]++
		}
	}
	var all []color.RGBA
	for c := range counts {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b color.RGBA) int { return counts[b] - counts[a] })
	palette := color.Palette{color.White}
	for _, c := range all[:min(len(all), 255)] {
		palette = append(palette, color.RGBA{c.R | c.R>>5, c.G | c.G>>5, c.B | c.B>>5, 255})
	}
	small := image.NewPaletted(box, palette)
	draw.Draw(small, box, full, box.Min, draw.Src)
	var b bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	if err := encoder.Encode(&b, small); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
