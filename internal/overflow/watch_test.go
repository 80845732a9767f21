package overflow

import (
	"bytes"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"dumptool/internal/tensor"
)

// TestSplitWatch: with several marks the mark between two known names counts, else the last.
func TestSplitWatch(t *testing.T) {
	known := map[string]bool{"a": true, "c": true, "b_To_c": true, "x_To_y": true}
	for name, want := range map[string]string{
		"a_To_c":         "a c true",
		"a_To_b_To_c":    "a b_To_c true",
		"p_To_q_To_r":    "p_To_q r true",
		"_To_c":          "  false",
		"a_To_":          "  false",
		"add":            "  false",
		"x_To_y":         "  false",
		"a_To__To_c":     "a_To_ c true",
		"a_To_To_c":      "a_To c true",
		"net_a_To_net_c": "net_a net_c true",
	} {
		after, op, ok := splitWatch(name, known)
		if got := fmt.Sprint(after, " ", op, " ", ok); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// TestChangeProperties compares a change with a list of the differing elements, for any blocks.
func TestChangeProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.SampledFrom([]int{1, 2, 4, 8}).Draw(t, "bytes of an element")
		dtype := map[int]tensor.DType{1: tensor.Uint8, 2: tensor.Float16, 4: tensor.Float32, 8: tensor.Int64}[size]
		old := rapid.SliceOfN(rapid.ByteRange(0, 1), 0, 40).Draw(t, "old")
		old = old[:len(old)/size*size]
		is := bytes.Clone(old)
		for range rapid.IntRange(0, 30).Draw(t, "changes") {
			if len(is) > 0 {
				is[rapid.IntRange(0, len(is)-1).Draw(t, "at")] = rapid.ByteRange(0, 1).Draw(t, "byte")
			}
		}
		var got Change
		e := elementMap{int64(size), 1, int64(len(is) / size), dtype}
		for at := 0; at < len(is); {
			end := min(len(is), at+size*rapid.IntRange(1, 5).Draw(t, "block"))
			got.addBlock(e, int64(at), old[at:end], is[at:end])
			at = end
		}
		var want Change
		var runs [][2]int64
		for i := range is {
			if is[i] == old[i] {
				continue
			}
			if want.Bytes++; want.Bytes == 1 {
				want.FirstByte = int64(i)
			}
			k := int64(i / size)
			switch n := len(runs); {
			case n > 0 && runs[n-1][1] == k:
				continue
			case n > 0 && runs[n-1][1] == k-1:
				runs[n-1][1] = k
			default:
				runs = append(runs, [2]int64{k, k})
			}
			want.Elements++
		}
		if got.Bytes != want.Bytes || got.FirstByte != want.FirstByte || got.Elements != want.Elements || got.NumRanges != int64(len(runs)) ||
			fmt.Sprint(got.Ranges) != fmt.Sprint(runs[:min(len(runs), maxRanges)]) {
			t.Fatalf("%+v, want %+v with runs %v", got, want, runs)
		}
	})
}

// TestChangeOfPacked: elements of four bits, two per byte.
func TestChangeOfPacked(t *testing.T) {
	var c Change
	c.addBlock(elementMap{1, 2, 5, tensor.Int4}, 0, []byte{0, 0, 0}, []byte{0, 1, 7})
	if c.Elements != 3 || fmt.Sprint(c.Ranges) != "[[2 4]]" || c.OldValue != "0x00" || c.NewValue != "0x01" {
		t.Errorf("%+v", c)
	}
}
