package noise

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"dumptool/internal/tensor"
)

// columnsOf returns the columns of groups.
func columnsOf(g *Groups) []*Column {
	return []*Column{&g.RefRMS, &g.RefStd, &g.RefMax, &g.RMS, &g.Mean, &g.Max, &g.Rounding, &g.Relative, &g.Inverse, &g.Scale}
}

// noiseOf returns noise with a number in every field.
func noiseOf(t testing.TB) *Noise {
	t.Helper()
	next := 0.0
	number := func() float64 { next++; return next * math.Pi }
	column := func(bins int) Column {
		all := make(Column, bins)
		for i := range all {
			all[i] = float32(number())
		}
		return all
	}
	groups := func(count, size, fold int64, bins int) Groups {
		g := Groups{Count: count, Size: size, Fold: fold}
		for _, c := range columnsOf(&g) {
			*c = column(bins)
		}
		return g
	}
	typ, ok := TypeOf(tensor.Float32)
	if !ok {
		t.Fatal("no float32")
	}
	n := &Noise{Type: typ, Shape: tensor.Shape{3, 5}, Elements: 15, Count: 14, Sampled: 10, Bits: 5, Constant: true, Softmax: true, NonFinite: 2, Overflows: 3,
		Flips: 4, OneSided: 5, RowsOff: 3, Differing: 14, Lone: 6,
		Grid: &NumberGrid{Distinct: 14, OffFloat16: 1, OffBFloat16: 2, Subnormal: 3, Saturated: 4,
			LoneFloat16: 5, LoneBFloat16: 6, RowsOffFloat16: 2, RowsOffBFloat16: 1, OtherRowsRMSFloat16: 0.5, OtherRowsRMSBFloat16: 0.75}, Apart: &InputDifference{Elements: 3, Float16: 2, BFloat16: 1, Ref: tensor.Float32, NPU: tensor.BFloat16}, Rows: groups(3, 5, 1, 3), Channels: groups(5, 3, 2, 3)}
	fields := reflect.ValueOf(n).Elem()
	for i := range fields.NumField() {
		if f := fields.Field(i); f.Kind() == reflect.Float64 {
			f.SetFloat(number())
		}
		if fields.Field(i).IsZero() && fields.Type().Field(i).Name != "Probe" {
			t.Fatalf("nothing in %s", fields.Type().Field(i).Name)
		}
	}
	n.Scale, n.View, n.P90 = -1e-300, math.MaxFloat64, math.Copysign(0, -1)
	n.Rows.RMS[1], n.Rows.Mean[2] = math.SmallestNonzeroFloat32, float32(math.Copysign(0, -1))
	n.Probe = Probe{Values: column(15), RowMean: []float64{number(), number(), number()}, RowStd: []float64{number(), number(), number()}}
	return n
}

// TestJSON: noise survives writing and reading to the last bit; unknown values are refused.
func TestJSON(t *testing.T) {
	full := noiseOf(t)
	half, _ := TypeOf(tensor.Float16)
	for name, n := range map[string]*Noise{
		"full": full, "empty": {Type: full.Type, Shape: tensor.Shape{0, 4}, Grid: new(NumberGrid)}, "scalar": {Type: half, Shape: tensor.Shape{}, Elements: 1},
	} {
		data, err := json.Marshal(n)
		if err != nil {
			t.Fatal(err)
		}
		got := noiseOf(t) // previous contents are replaced
		if err := json.Unmarshal(data, got); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		again, err := json.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(again, data) {
			t.Errorf("%s is written as\n%s\nand then as\n%s", name, data, again)
		}
		for _, of := range []*Noise{n, got} { // a column without a bin may be nil
			for _, g := range []*Groups{&of.Rows, &of.Channels} {
				for _, c := range columnsOf(g) {
					*c = append(Column{}, *c...)
				}
			}
		}
		if diff := cmp.Diff(n, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestNoScale: documents without scales of groups, of earlier programs, are read and written again.
func TestNoScale(t *testing.T) {
	want := noiseOf(t)
	want.Rows.Scale, want.Channels.Scale = Column{}, Column{}
	data, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	for text, scale := range map[string]Column{string(data): {}, strings.ReplaceAll(string(data), `,"scale":""`, ""): nil} {
		got := new(Noise)
		if err := json.Unmarshal([]byte(text), got); err != nil {
			t.Fatal(err)
		}
		want.Rows.Scale, want.Channels.Scale = scale, scale
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// TestColumnJSON: a column is read to the last bit of each number.
func TestColumnJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := Column(rapid.SliceOf(rapid.Map(rapid.Uint32(), math.Float32frombits).Filter(func(x float32) bool { return x-x == 0 })).Draw(t, "column"))
		data, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got Column
		if err := json.Unmarshal(data, &got); err != nil {
			t.Fatal(err)
		}
		if len(got) != len(want) {
			t.Fatalf("%d numbers of %d", len(got), len(want))
		}
		for i, x := range want {
			if math.Float32bits(got[i]) != math.Float32bits(x) {
				t.Fatalf("number %d is %x, want %x", i, got[i], x)
			}
		}
	})
}

// TestMalformedJSON: impossible noise is refused, and the error says why.
func TestMalformedJSON(t *testing.T) {
	infinite, notANumber := float32(math.Inf(-1)), float32(math.NaN())
	for name, tt := range map[string]struct {
		change   func(n *Noise)
		from, to string // of the text
		want     string
	}{
		"another type":           {from: `"float32"`, to: `"float33"`, want: `noise of the type "float33"`},
		"a type without noise":   {from: `"float32"`, to: `"complex64"`, want: `noise of the type "complex64"`},
		"another name of a type": {from: `"float32"`, to: `"FLOAT32"`, want: `noise of the type "FLOAT32"`},
		"a shape of more":        {change: func(n *Noise) { n.Shape[1] = 6 }, want: "noise of 14 pairs of 15 elements in the shape (3, 6)"},
		"a negative shape":       {change: func(n *Noise) { n.Shape = tensor.Shape{-3, -5} }, want: "in the shape (-3, -5)"},
		"more pairs":             {change: func(n *Noise) { n.Count = 16 }, want: "noise of 16 pairs of 15 elements"},
		"less than no pairs":     {change: func(n *Noise) { n.Count = -1 }, want: "noise of -1 pairs"},
		"many different values":  {change: func(n *Noise) { n.Grid.Distinct = 65 }, want: "grid: 65 of 64 different values"},
		"less than no values":    {change: func(n *Noise) { n.Grid.Distinct = -1 }, want: "grid: -1 of 64 different values"},
		"less than none off":     {change: func(n *Noise) { n.Grid.OffBFloat16 = -2 }, want: "grid: -2 of 15 elements"},
		"less than no tiny ones": {change: func(n *Noise) { n.Grid.Subnormal = -1 }, want: "grid: -1 of 15 elements"},
		"less than no limits":    {change: func(n *Noise) { n.Grid.Saturated = -1 }, want: "grid: -1 of 15 elements"},
		"too many off the grid":  {change: func(n *Noise) { n.Grid.OffFloat16 = 16 }, want: "grid: 16 of 15 elements"},
		"too many lone ones":     {change: func(n *Noise) { n.Grid.LoneFloat16 = 16 }, want: "grid: 16 of 15 elements"},
		"fewer lone ones":        {change: func(n *Noise) { n.Grid.LoneBFloat16 = -3 }, want: "grid: -3 of 15 elements"},
		"too many rows of half":  {change: func(n *Noise) { n.Grid.RowsOffFloat16 = 4 }, want: "grid: 4 of 3 rows"},
		"fewer rows of bfloat16": {change: func(n *Noise) { n.Grid.RowsOffBFloat16 = -4 }, want: "grid: -4 of 3 rows"},
		"too many flips":         {change: func(n *Noise) { n.Flips = 16 }, want: "16 of 15 elements"},
		"less than no flips":     {change: func(n *Noise) { n.Flips = -5 }, want: "-5 of 15 elements"},
		"too many zeros":         {change: func(n *Noise) { n.OneSided = 17 }, want: "17 of 15 elements"},
		"too many rows":          {change: func(n *Noise) { n.RowsOff = 4 }, want: "4 of 3 rows"},
		"less than no rows":      {change: func(n *Noise) { n.RowsOff = -1 }, want: "-1 of 3 rows"},
		"too many integers":      {change: func(n *Noise) { n.Differing = 18 }, want: "18 of 15 elements"},
		"less than none alone":   {change: func(n *Noise) { n.Lone = -1 }, want: "-1 of 15 elements"},
		"a short column":         {change: func(n *Noise) { n.Rows.Max = n.Rows.Max[:2] }, want: "columns of 3 and 2 groups"},
		"a short scale":          {change: func(n *Noise) { n.Rows.Scale = n.Rows.Scale[:1] }, want: "columns of 3 and 1 groups"},
		"a scale of nothing":     {change: func(n *Noise) { n.Rows = Groups{Scale: Column{1}} }, want: "columns of 0 and 1 groups"},
		"an infinite scale":      {change: func(n *Noise) { n.Channels.Scale[2] = infinite }, want: "-Inf is no finite number"},
		"a long column":          {change: func(n *Noise) { n.Channels.Inverse = append(n.Channels.Inverse, 1) }, want: "columns of 3 and 4 groups"},
		"no first column":        {change: func(n *Noise) { n.Rows.RefRMS = nil }, want: "columns of 0 and 3 groups"},
		"NaN":                    {change: func(n *Noise) { n.Rows.Mean[1] = notANumber }, want: "NaN is no finite number"},
		"an infinity":            {change: func(n *Noise) { n.Channels.Relative[2] = infinite }, want: "-Inf is no finite number"},
		"no base64":              {from: `"ref_rms":"`, to: `"ref_rms":"@`, want: "illegal base64"},
		"half a number":          {from: `"values":"`, to: `"values":"AAAA`, want: "63 bytes of float32"},
		"a number for many":      {from: `"values":"`, to: `"values":1,"x":"`, want: "cannot unmarshal"},
		"fewer groups":           {change: func(n *Noise) { n.Rows.Count = 2 }, want: "3 bins of 2 groups of 5 elements, 1 in a bin"},
		"more groups":            {change: func(n *Noise) { n.Channels.Count = 7 }, want: "3 bins of 7 groups of 3 elements, 2 in a bin"},
		"no groups in a bin":     {change: func(n *Noise) { n.Channels.Fold = 0 }, want: "3 bins of 5 groups of 3 elements, 0 in a bin"},
		"less than none":         {change: func(n *Noise) { n.Channels.Fold = -1 }, want: "-1 in a bin"},
		"less than no group":     {change: func(n *Noise) { n.Rows = Groups{Count: -1} }, want: "0 bins of -1 groups"},
		"less than no element":   {change: func(n *Noise) { n.Rows.Size = -1 }, want: "3 bins of 3 groups of -1 elements"},
		"a short probe":          {change: func(n *Noise) { n.Probe.Values = n.Probe.Values[:14] }, want: "probe of 14 elements, want 15"},
		"a long probe":           {change: func(n *Noise) { n.Probe.Values = append(n.Probe.Values, 1) }, want: "probe of 16 elements, want 15"},
		"rows without a mean":    {change: func(n *Noise) { n.Probe.RowMean = n.Probe.RowMean[:2] }, want: "probe of rows without both of their numbers"},
		"two rows of three":      {change: func(n *Noise) { n.Probe.RowMean, n.Probe.RowStd = n.Probe.RowMean[:2], n.Probe.RowStd[:2] }, want: "probe of 2 rows in the shape (3, 5)"},
		"no number":              {from: `"rms":`, to: `"rms":"inf","x":`, want: "cannot unmarshal"},
	} {
		n := noiseOf(t)
		if tt.change != nil {
			tt.change(n)
		}
		data, err := json.Marshal(n)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(data), tt.from) {
			t.Fatalf("%s: no %s in %s", name, tt.from, data)
		}
		if err := json.Unmarshal([]byte(strings.Replace(string(data), tt.from, tt.to, 1)), new(Noise)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %q", name, err, tt.want)
		}
	}
}
