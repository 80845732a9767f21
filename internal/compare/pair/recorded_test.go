package pair

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"dumptool/internal/sidefile"
	"dumptool/internal/tensor"

	"github.com/google/go-cmp/cmp"
)

// recordedAt returns the tensor with a path such as /Op/3/input/self.
func recordedAt(t *testing.T, path string) RecorderPosition {
	t.Helper()
	parts := strings.Split(path, "/")[1:]
	seq, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return RecorderPosition{Op: parts[0], Seq: seq, Kind: tensor.Kind(parts[2]), Param: parts[3:]}
}

// recordedPairs pairs tensors by their paths.
func recordedPairs(t *testing.T, refPaths, npuPaths []string, nameMap *sidefile.NameMap) map[string]string {
	t.Helper()
	var refs, npus []RecorderPosition
	for _, p := range refPaths {
		refs = append(refs, recordedAt(t, p))
	}
	for _, p := range npuPaths {
		npus = append(npus, recordedAt(t, p))
	}
	pairs := make(map[string]string)
	for i, k := range MatchRecorded(refs, npus, nameMap) {
		if pairs[npuPaths[i]] = ""; k >= 0 {
			pairs[npuPaths[i]] = refPaths[k]
		}
	}
	return pairs
}

// TestRecordedGolden pairs the tensors of two golden files.
func TestRecordedGolden(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "testdata", "golden", "inputs", "expect.json"))
	if err != nil {
		t.Fatal(err)
	}
	var expect struct {
		Pairs struct {
			Pairs []struct{ NPU, Golden *string }
		} `json:"h5_pairs"`
	}
	if err := json.Unmarshal(text, &expect); err != nil {
		t.Fatal(err)
	}
	want := make(map[string]string)
	var refs, npus []string
	for _, p := range expect.Pairs.Pairs {
		if p.Golden != nil {
			refs = append(refs, *p.Golden)
		}
		if p.NPU != nil {
			npus = append(npus, *p.NPU)
			if want[*p.NPU] = ""; p.Golden != nil {
				want[*p.NPU] = *p.Golden
			}
		}
	}
	if len(want) < 20 {
		t.Fatalf("%d pairs", len(want))
	}
	if diff := cmp.Diff(want, recordedPairs(t, refs, npus, nil)); diff != "" {
		t.Errorf("pairs (-want +got):\n%s", diff)
	}
	back := make(map[string]string)
	for _, ref := range refs {
		back[ref] = ""
	}
	for npu, ref := range want {
		if ref != "" {
			back[ref] = npu
		}
	}
	if diff := cmp.Diff(back, recordedPairs(t, npus, refs, nil)); diff != "" {
		t.Errorf("the other way round (-want +got):\n%s", diff)
	}
}

func TestMatchRecorded(t *testing.T) {
	names := nameMap(t, `{"MulBackward":"ScaleBackward"}`)
	for _, tt := range []struct {
		name      string
		refs, npu []string
		want      map[string]string
	}{
		{
			name: "convolutions of two kinds are counted together",
			refs: []string{"/CudnnConvolutionBackward/41/input/self", "/ThnnConvDepthwise2DBackward/44/input/self"},
			npu:  []string{"/NpuConvolutionBackward/3/input/input", "/NpuConvolutionBackward/5/input/input"},
			want: map[string]string{
				"/NpuConvolutionBackward/3/input/input": "/CudnnConvolutionBackward/41/input/self",
				"/NpuConvolutionBackward/5/input/input": "/ThnnConvDepthwise2DBackward/44/input/self",
			},
		},
		{
			name: "rounds go by the value of numbers",
			refs: []string{"/AddBackward/9/input/a", "/AddBackward/10/input/a"},
			npu:  []string{"/AddBackward/100/input/a", "/AddBackward/99/input/a"},
			want: map[string]string{"/AddBackward/99/input/a": "/AddBackward/9/input/a", "/AddBackward/100/input/a": "/AddBackward/10/input/a"},
		},
		{
			name: "prefixes of devices",
			refs: []string{"/CudnnRnnBackward/1/input/a", "/ThnnConv2DBackward/2/input/a"},
			npu:  []string{"/NpuRnnBackward/1/input/a", "/NpuConv2DBackward/2/input/a", "/NpuConv2DBackward/3/input/a"},
			want: map[string]string{
				"/NpuRnnBackward/1/input/a": "/CudnnRnnBackward/1/input/a", "/NpuConv2DBackward/2/input/a": "/ThnnConv2DBackward/2/input/a",
				"/NpuConv2DBackward/3/input/a": "",
			},
		},
		{
			name: "of an NPU without inputs the numbers are the reference's",
			refs: []string{"/AddBackward/3/output/r", "/AddBackward/5/output/r", "/AddBackward/5/input/a"},
			npu:  []string{"/AddBackward/5/output/r", "/AddBackward/6/output/r"},
			want: map[string]string{"/AddBackward/5/output/r": "/AddBackward/5/output/r", "/AddBackward/6/output/r": ""},
		},
		{
			name: "the name map comes first",
			refs: []string{"/MulBackward/1/input/a", "/ScaleBackward/2/input/a"},
			npu:  []string{"/ScaleBackward/7/input/a"},
			want: map[string]string{"/ScaleBackward/7/input/a": "/MulBackward/1/input/a"},
		},
		{
			name: "lists, and a parameter that is missing",
			refs: []string{"/Cat/1/input/l/l_0", "/Cat/1/input/l/l_1"},
			npu:  []string{"/Cat/2/input/l/l_1", "/Cat/2/input/l/l_2"},
			want: map[string]string{"/Cat/2/input/l/l_1": "/Cat/1/input/l/l_1", "/Cat/2/input/l/l_2": ""},
		},
	} {
		if diff := cmp.Diff(tt.want, recordedPairs(t, tt.refs, tt.npu, names)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}
