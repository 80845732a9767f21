package hpaa

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dumptool/internal/format/npy"
	"dumptool/internal/tensor"
)

// vendorTree writes pieces and the vendor's arrays: nodes of one and of several pieces, on axes 0
// and 1, with padding at the end of one.
func vendorTree(t *testing.T, name func(node string, piece int) string, encode func(data []byte) string) (dump, npu string) {
	t.Helper()
	dir := t.TempDir()
	dump, npu = filepath.Join(dir, "dump_data"), filepath.Join(dir, "npu")
	random := rand.New(rand.NewPCG(1, 2))
	for _, node := range []struct {
		name   string
		shape  []int64
		axis   int
		pieces int
	}{{"net/conv1", []int64{4, 6}, 0, 4}, {"relu", []int64{3, 5}, 0, 1}, {"net/fc", []int64{7, 2}, 0, 4}, {"pool_2", []int64{2, 4}, 1, 2}} {
		whole := newArray(node.shape...)
		each(node.shape, func(index []int64) {
			whole.at[fmt.Sprint(index)] = []byte{byte(random.Uint32()), byte(random.Uint32())}
		})
		for k := range node.pieces {
			part := newArray(partOf(node.shape, node.axis, node.pieces)...)
			each(part.shape, func(index []int64) {
				from := slices.Clone(index)
				from[node.axis] += int64(k) * part.shape[node.axis]
				element := whole.at[fmt.Sprint(from)]
				if element == nil {
					element = []byte{0, 0} // padding
				}
				part.at[fmt.Sprint(index)] = element
			})
			writeFile(t, filepath.Join(dump, name(strings.ReplaceAll(node.name, "/", "_"), k)), encode(part.bytes()))
		}
		head, err := npy.AppendHeader(nil, tensor.HostFloat16, node.shape)
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, filepath.Join(npu, strings.ReplaceAll(node.name, "/", "_")+".npy"), string(head)+string(whole.bytes()))
	}
	return dump, npu
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

func TestLearn(t *testing.T) {
	t.Parallel()
	reversed := func(size int, form string) func([]byte) string {
		return func(data []byte) string {
			var text strings.Builder
			for part := range slices.Chunk(data, size) {
				part = slices.Clone(part)
				slices.Reverse(part)
				fmt.Fprintf(&text, form, part)
			}
			return text.String()
		}
	}
	tests := map[string]struct {
		name   func(node string, piece int) string
		encode func(data []byte) string
		want   Learned
	}{
		"hex":     {func(n string, k int) string { return fmt.Sprintf("0/%d_%s@0.%08x_%08x.dat", k, n, 7, k) }, hex.EncodeToString, Learned{Encoding: Hex}},
		"plain":   {func(n string, k int) string { return fmt.Sprintf("%s.%d.bin", n, k) }, func(d []byte) string { return string(d) }, Learned{Encoding: Bin}},
		"header":  {func(n string, k int) string { return fmt.Sprintf("card0/%s-p%d.raw", n, k) }, func(d []byte) string { return strings.Repeat("\xee", 96) + string(d) }, Learned{Encoding: Bin, Skip: 96}},
		"title":   {func(n string, k int) string { return fmt.Sprintf("%s.%d.txt", n, k) }, func(d []byte) string { return "# text\n" + hex.EncodeToString(d) }, Learned{Encoding: Hex, Skip: 7}},
		"words16": {func(n string, k int) string { return fmt.Sprintf("%s_%d", n, k) }, reversed(2, "%x\n"), Learned{Encoding: Words16}},
		"hex0x":   {func(n string, k int) string { return fmt.Sprintf("%d/%s.txt", k, n) }, reversed(1, "0x%x, "), Learned{Encoding: Hex0x}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dump, npu := vendorTree(t, tt.name, tt.encode)
			writeFile(t, filepath.Join(dump, "README"), "no piece")
			got, err := Learn(context.Background(), dump, npu)
			if err != nil || got == nil {
				t.Fatalf("%+v, %v", got, err)
			}
			if got.Encoding != tt.want.Encoding || got.Skip != tt.want.Skip || got.Arrays != 4 || got.Pieces != 11 || got.Bytes != 2*(24+15+14+8) ||
				len(got.Alone) != 0 || !slices.Equal(got.Others, []string{"README"}) {
				t.Errorf("%+v", got)
			}
			if got.Axis != 0 || len(got.Axes) != 1 || got.Axes["pool_2"] != 1 {
				t.Errorf("axes %d, %v", got.Axis, got.Axes)
			}
			// An import with the learned pattern gives the same files, if the axis is right.
			pattern, err := ParsePattern(got.Pattern)
			if err != nil {
				t.Fatal(err)
			}
			found, err := (&Source{Pattern: pattern, Dir: dump}).Find()
			if err != nil {
				t.Fatal(err)
			}
			like, err := OpenReference(context.Background(), npu)
			if err != nil {
				t.Fatal(err)
			}
			out := filepath.Join(t.TempDir(), "npu")
			if _, err := Import(context.Background(), found, Options{Out: out, Encoding: got.Encoding, Skip: got.Skip, Axis: got.Axis, Reference: like}); err != nil {
				t.Fatal(err)
			}
			for _, file := range []string{"net_conv1.npy", "relu.npy", "net_fc.npy"} {
				a, err := os.ReadFile(filepath.Join(out, file))
				b, err2 := os.ReadFile(filepath.Join(npu, file))
				if err != nil || err2 != nil || !bytes.Equal(a, b) {
					t.Errorf("%s differs: %v %v", file, err, err2)
				}
			}
			// With one changed byte, no description gives all arrays.
			path := filepath.Join(npu, "net_fc.npy")
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			data[len(data)-1] ^= 1
			writeFile(t, path, string(data))
			if got, err := Learn(context.Background(), dump, npu); got != nil || err != nil {
				t.Errorf("learned %+v, %v from an array that differs", got, err)
			}
		})
	}
}

func TestLearnErrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := Learn(context.Background(), dir, filepath.Join(dir, "none")); err == nil {
		t.Error("no error without arrays")
	}
	if got, err := Learn(context.Background(), dir, dir); got != nil || err != nil {
		t.Errorf("empty folders: %+v, %v", got, err)
	}
	writeFile(t, filepath.Join(dir, "npu", "a.npy"), "no array")
	if _, err := Learn(context.Background(), dir, filepath.Join(dir, "npu")); err == nil || !strings.Contains(err.Error(), "a.npy") {
		t.Errorf("broken array: %v", err)
	}
}

func TestTokens(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"":                          nil,
		"@0.011fda60_000001d2.dat":  {"@", "", ".", "", "_", "", ".dat"},
		"card12/n":                  {"card", "", "/n"},
		".bad.p3":                   {".bad.p", ""},
		"{x}7":                      {"x", ""},
		"rank_0/step-1f/deadbeef99": {"rank_", "", "/step-", "", "/", ""},
	} {
		if got := tokens(text); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
