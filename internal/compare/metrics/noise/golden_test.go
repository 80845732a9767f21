package noise

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"dumptool/internal/dumptest"
	"dumptool/internal/tensor"
)

// TestGolden compares with the results of an independent program.
func TestGolden(t *testing.T) {
	nets := dumptest.Untar(t, filepath.Join("..", "..", "..", "..", "testdata", "golden", "nets.tar.gz"))
	for name, typ := range map[string]tensor.DType{
		"s13_strong": tensor.BFloat16, "s7_mild": tensor.Float16, "s12_strong": tensor.Float16,
	} {
		t.Run(name, func(t *testing.T) {
			net := filepath.Join(nets, name)
			var golden struct {
				Rows []struct {
					Op, Cls                  string
					RD, RR, F, P, O, R, C, T float64
					ZS                       float64
				}
			}
			if err := json.Unmarshal(readFile(t, net, "proto.json"), &golden); err != nil {
				t.Fatal(err)
			}
			for _, row := range golden.Rows {
				shape, d, n := parseNpy(t, readFile(t, net, "npu", row.Op+".npy"))
				_, _, r := parseNpy(t, readFile(t, net, "cpu", row.Op+".npy"))
				req := &Request{Shape: shape, Type: typeOf(t, typ), Mask: math.Inf(-1), Groups: 1 << 20}
				if d == "|i1" || d == "<i4" {
					req.Type = typeOf(t, tensor.Int32)
				}
				got := collect(req, n, r, 1<<30, 1024)
				check := func(what string, got, want float64) {
					if !(math.Abs(got-want) <= 2e-5*math.Abs(want)) {
						t.Errorf("%s: %s is %v, want %v", row.Op, what, got, want)
					}
				}
				check("RMS", got.RMS, row.RD)
				check("RefRMS", got.RefRMS, row.RR)
				check("Rounding", got.Rounding, row.F)
				if row.Cls != "root:?" {
					continue
				}
				expected := math.Hypot(row.P, row.O)
				relative := expected / got.RefRMS
				own := max(0, math.Abs(got.Scale)-2*relative*relative) / max(relative, got.Residual/got.RefRMS)
				check("zs", own*math.Sqrt(float64(got.Count)), row.ZS)
				var rows, channels, peak float64
				for i, rr := range got.Rows.RefRMS {
					e := max(float64(rr)/got.RefRMS, .5) * expected
					rows, peak = max(rows, float64(got.Rows.RMS[i])/e), max(peak, float64(got.Rows.Max[i])/(6*e))
				}
				for i, rr := range got.Channels.RefRMS {
					channels = max(channels, float64(got.Channels.RMS[i])/(max(float64(rr)/got.RefRMS, .5)*expected))
				}
				check("R", rows, row.R)
				check("C", channels, row.C)
				check("T", peak, row.T)
			}
		})
	}
}

func readFile(t *testing.T, path ...string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

var npyHeader = regexp.MustCompile(`'descr': '([^']+)', 'fortran_order': False, 'shape': \(([^)]*)\)`)

// parseNpy reads the file of an array.
func parseNpy(t *testing.T, data []byte) (shape tensor.Shape, dtype string, values []float64) {
	t.Helper()
	end := 10 + int(binary.LittleEndian.Uint16(data[8:]))
	m := npyHeader.FindSubmatch(data[:end])
	if m == nil {
		t.Fatalf("header %q", data[:end])
	}
	for _, size := range strings.FieldsFunc(string(m[2]), func(c rune) bool { return c == ',' || c == ' ' }) {
		k, err := strconv.ParseInt(size, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		shape = append(shape, k)
	}
	dtype, data = string(m[1]), data[end:]
	host, ok := map[string]tensor.Host{
		"|i1": tensor.HostInt8, "<i4": tensor.HostInt32, "<f2": tensor.HostFloat16, "<f4": tensor.HostFloat32, "<f8": tensor.HostFloat64,
	}[dtype]
	if !ok {
		t.Fatalf("array of %s", dtype)
	}
	values = make([]float64, shape.Elements())
	tensor.Float64s(values, data, host)
	return shape, dtype, values
}
