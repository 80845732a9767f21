package synth

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"dumptool/internal/tensor"
)

// TestConvolve compares sums with those of a padded picture, added up in another
// order.
func TestConvolve(t *testing.T) {
	c := Convolution{Channels: 3, Filters: 5, Side: 6, Kernel: 3}
	random := rand.New(rand.NewPCG(1, 1))
	picture := Uniform[float64](random, c.Channels*c.Side*c.Side, 2)
	weight := Uniform[float64](random, c.Filters*c.Channels*9, 1)
	side := c.Side + 2
	padded := make([]float64, c.Channels*side*side)
	for i, v := range picture {
		channel, y, x := i/36, i/6%6, i%6
		padded[(channel*side+y+1)*side+x+1] = v
	}
	for i, got := range Convolve(c, picture, weight, nil) {
		f, y, x := i/36, i/6%6, i%6
		var want float64
		for dx := 2; dx >= 0; dx-- {
			for dy := range 3 {
				for channel := range c.Channels {
					want += padded[(channel*side+y+dy)*side+x+dx] * weight[((f*c.Channels+channel)*3+dy)*3+dx]
				}
			}
		}
		if math.Abs(got-want) > 1e-13 {
			t.Errorf("element %d is %v, want %v", i, got, want)
		}
	}
}

// TestConvolveLost: a convolution of ones counts the products that it adds up.
func TestConvolveLost(t *testing.T) {
	c := Convolution{Channels: 32, Filters: 2, Side: 8, Kernel: 3}
	ones := make([]float64, 32*64)
	for i := range ones {
		ones[i] = 1
	}
	lost := func(channel, row int) bool { return row >= 4 && channel >= 16 }
	whole, faulty := Convolve(c, ones, ones, nil), Convolve(c, ones, ones, lost)
	for at, want := range map[int][2]float64{
		0: {4 * 32, 4 * 32}, 1: {6 * 32, 6 * 32}, 9: {9 * 32, 9 * 32}, 33: {9 * 32, 9 * 16}, 63: {4 * 32, 4 * 16},
	} {
		if whole[at] != want[0] || faulty[at] != want[1] {
			t.Errorf("element %d: %v and %v, want %v", at, whole[at], faulty[at], want)
		}
	}
}

func TestMultiply(t *testing.T) {
	got := Multiply([]float32{1, 2, 3, 4}, []float32{5, 6, 7, 8, 9, 10}, 2)
	if want := []float32{21, 24, 27, 47, 54, 61}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestRounded(t *testing.T) {
	values := Uniform[float64](rand.New(rand.NewPCG(1, 2)), 1000, 3)
	halves, rounded := Halves(values), Rounded(values)
	for i, v := range values {
		if math.Abs(v) > 3 || math.Abs(rounded[i]-v) > 0x1p-10 || tensor.Float16To64(halves[i]) != rounded[i] {
			t.Errorf("%v is rounded to %v, %#04x", v, rounded[i], halves[i])
		}
	}
}
