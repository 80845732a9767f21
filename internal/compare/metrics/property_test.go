package metrics

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"dumptool/internal/tensor"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// sample returns a pair of tensors with small differences, some errors and some
// elements that are not finite.
func sample(count int, seed uint64, refType, npuType tensor.DType) (ref, npu memory) {
	random := rand.New(rand.NewPCG(seed, 1))
	n, r := make([]float64, count), make([]float64, count)
	for i := range n {
		r[i] = random.NormFloat64() * 10
		n[i] = r[i] * (1 + 1e-3*random.NormFloat64())
		switch random.IntN(400) {
		case 0:
			n[i] *= 2
		case 1:
			r[i] = 0
		case 2:
			n[i], r[i] = 0, 0
		case 3:
			n[i] = inf
		case 4:
			n[i], r[i] = nan, nan
		case 5:
			r[i] = nan
		}
	}
	return store(refType, r...), store(npuType, n...)
}

func sampleRequest(shape tensor.Shape) Request {
	return Request{
		Shape: shape, RefDType: tensor.Float32, NPUDType: tensor.Float16, Limits: hpaaLimits,
		Top: 7, List: 9, Points: 100,
	}
}

// runParallel computes all segments concurrently, the last segments first.
func runParallel(t *testing.T, e *Engine, workers int, ref, npu Reader) *Result {
	t.Helper()
	parts := make([]*Partial, e.Segments())
	var group sync.WaitGroup
	for k := range workers {
		group.Go(func() {
			for s := e.Segments() - 1 - int64(k); s >= 0; s -= int64(workers) {
				part, err := e.Run(context.Background(), s, ref, npu)
				if err != nil {
					t.Error(err)
				}
				parts[s] = part
			}
		})
	}
	group.Wait()
	m := e.NewMerger()
	for _, p := range parts {
		if err := m.Add(p); err != nil {
			t.Fatal(err)
		}
	}
	return m.Finish()
}

func TestReadSizesAndWorkers(t *testing.T) {
	const count = 9*8*1024 + 777
	req := sampleRequest(tensor.Shape{count})
	ref, npu := sample(count, 1, req.RefDType, req.NPUDType)
	run := func(read int, segment int64, workers int) *Result {
		e, err := New(req)
		if err != nil {
			t.Fatal(err)
		}
		e.readElements, e.segmentElements = read, segment
		return runParallel(t, e, workers, ref, npu)
	}
	want := run(ReadElements, 8*blockElements, 1)
	for _, c := range []struct{ read, workers int }{{blockElements, 1}, {3 * blockElements, 2}, {8 * blockElements, 3}, {ReadElements, 2}} {
		got := run(c.read, 8*blockElements, c.workers)
		if diff := gocmp.Diff(want, got, cmpopts.EquateNaNs()); diff != "" {
			t.Errorf("read %d, %d workers: %s", c.read, c.workers, diff)
		}
	}
	// The sums of axes are added segment by segment; all other sums use the
	// same tree.
	axes := cmpopts.IgnoreFields(AxisBin{}, "SumAbs", "SumRel")
	for _, blocks := range []int64{1, 2, 4, 16, 128} {
		got := run(blockElements, blocks*blockElements, 2)
		if diff := gocmp.Diff(want, got, cmpopts.EquateNaNs(), axes); diff != "" {
			t.Errorf("segments of %d blocks: %s", blocks, diff)
		}
	}
}

// TestPool compares pairs of all types computed in the buffers of one pool, including recycled
// results, with pairs computed in new buffers.
func TestPool(t *testing.T) {
	pool := NewPool()
	random := rand.New(rand.NewPCG(12, 12))
	for range 2 {
		for _, d := range decodable() {
			const count = blockElements + 100
			req := Request{Shape: tensor.Shape{count}, RefDType: d, NPUDType: d, Limits: hpaaLimits, Top: 3, List: 3, Points: 3}
			ref, npu := memory{nil, d.UnitSize()}, memory{nil, d.UnitSize()}
			for range count {
				ref.data, npu.data = randomElement(random, ref.data, d), randomElement(random, npu.data, d)
			}
			e, err := pool.New(req)
			if err != nil {
				t.Fatal(err)
			}
			got, err := e.Compare(t.Context(), ref, npu)
			if err != nil {
				t.Fatal(err)
			}
			want, err := Compare(t.Context(), req, ref, npu)
			if err != nil {
				t.Fatal(err)
			}
			if diff := gocmp.Diff(want, got, cmpopts.EquateNaNs()); diff != "" {
				t.Errorf("%s: %s", d, diff)
			}
			pool.Recycle(got)
			if got.Worst != nil || got.ErrorOffsets != nil || got.Axes != nil || got.AbsHistogram.Bins != nil || got.RelHistogram.Bins != nil {
				t.Errorf("%s: a recycled result has lists", d)
			}
		}
	}
}

// TestLocations compares everything that depends on offsets with a slow search.
func TestLocations(t *testing.T) {
	const count = 3*blockElements + 100
	req := sampleRequest(tensor.Shape{4, 793})
	ref, npu := sample(count, 2, req.RefDType, req.NPUDType)
	req.Shape = tensor.Shape{count}
	r, err := Compare(t.Context(), req, ref, npu)
	if err != nil {
		t.Fatal(err)
	}
	type row struct {
		offset int64
		abs    float64
	}
	var rows []row
	var listed []int64
	p := newSlowPair(t, req, ref, npu)
	for i, x := range p.all {
		if x.n.class != x.r.class {
			rows, listed = append(rows, row{int64(i), inf}), append(listed, int64(i))
		}
	}
	for _, f := range p.finite {
		rows = append(rows, row{f.offset, f.abs64})
		if f.isError {
			listed = append(listed, f.offset)
		}
	}
	slices.SortFunc(rows, func(a, b row) int { return cmp.Or(-cmp.Compare(a.abs, b.abs), cmp.Compare(a.offset, b.offset)) })
	slices.Sort(listed)
	offsets := func(elements []Element) (out []int64) {
		for _, e := range elements {
			out = append(out, e.Offset)
		}
		return out
	}
	var worst []int64
	for _, r := range rows[:req.Top] {
		worst = append(worst, r.offset)
	}
	for name, pair := range map[string][2][]int64{
		"worst":   {offsets(r.Worst), worst},
		"listed":  {offsets(r.Listed), listed[:req.List]},
		"offsets": {r.ErrorOffsets, listed[:min(len(listed), 64)]},
	} {
		if !slices.Equal(pair[0], pair[1]) {
			t.Errorf("%s: %v, want %v", name, pair[0], pair[1])
		}
	}
	if k := len(r.Points); k < 100 || k > 200 || r.Points[1].Offset != count/100 {
		t.Errorf("%d points, the second %+v", k, r.Points[1])
	}
	table := crc32.MakeTable(crc32.Castagnoli)
	if r.RefCRC != crc32.Checksum(ref.data, table) || r.NPUCRC != crc32.Checksum(npu.data, table) {
		t.Errorf("CRC %08x and %08x", r.RefCRC, r.NPUCRC)
	}
}

func TestWorstIsSortedWithoutMismatch(t *testing.T) {
	n := make([]float64, 5000)
	for i := range n {
		n[i] = float64(i % 1700)
	}
	r, err := Compare(t.Context(), Request{
		Shape: tensor.Shape{5000}, RefDType: tensor.Float64, NPUDType: tensor.Float64, Top: 5,
	}, store(tensor.Float64, make([]float64, 5000)...), store(tensor.Float64, n...))
	if err != nil {
		t.Fatal(err)
	}
	var got []int64
	for _, e := range r.Worst {
		got = append(got, e.Offset)
	}
	if want := []int64{1699, 3399, 1698, 3398, 1697}; !slices.Equal(got, want) {
		t.Errorf("worst %v, want %v", got, want)
	}
}

// TestAxes compares profiles with sums over all elements.
func TestAxes(t *testing.T) {
	for _, shape := range []tensor.Shape{
		{5}, {2, 1, 3}, {7, 1500}, {1100, 3}, {3, 5, 7, 11}, {3000, 2, 2}, {2, 9000}, {12, 33, 50}, {20001},
	} {
		count, _ := shape.Count()
		req := sampleRequest(shape)
		ref, npu := sample(int(count), 3, req.RefDType, req.NPUDType)
		e, err := New(req)
		if err != nil {
			t.Fatal(err)
		}
		e.segmentElements = 4 * blockElements
		r := runParallel(t, e, 1, ref, npu)
		slow := newSlowPair(t, req, ref, npu)
		var want []AxisProfile
		for axis, size := range shape {
			if size < 2 {
				continue
			}
			fold := (size + 1023) / 1024
			p := AxisProfile{Axis: axis, Size: size, Fold: fold, Bins: make([]AxisBin, (size+fold-1)/fold)}
			bin := func(offset int64) *AxisBin { return &p.Bins[shape.Coordinates(offset)[axis]/fold] }
			for i, x := range slow.all {
				b := bin(int64(i))
				b.Count++
				if x.n.class != x.r.class {
					b.Errors++
				}
			}
			for _, f := range slow.finite {
				b := bin(f.offset)
				if f.isError {
					b.Errors++
				}
				b.SumAbs += f.abs64
				if f.rel != nil {
					b.SumRel += relative64(&f)
				}
			}
			want = append(want, p)
		}
		if diff := gocmp.Diff(want, r.Axes, cmpopts.EquateApprox(1e-12, 0)); diff != "" {
			t.Errorf("%s: %s", shape, diff)
		}
	}
}

func TestPermutation(t *testing.T) {
	const count = 5000
	req := sampleRequest(tensor.Shape{count})
	ref, npu := sample(count, 4, req.RefDType, req.NPUDType)
	a, err := Compare(t.Context(), req, ref, npu)
	if err != nil {
		t.Fatal(err)
	}
	var ref2, npu2 memory
	ref2.size, npu2.size = 4, 2
	for _, i := range rand.New(rand.NewPCG(5, 5)).Perm(count) {
		ref2.data = append(ref2.data, ref.data[4*i:][:4]...)
		npu2.data = append(npu2.data, npu.data[2*i:][:2]...)
	}
	b, err := Compare(t.Context(), req, ref2, npu2)
	if err != nil {
		t.Fatal(err)
	}
	placed := cmpopts.IgnoreFields(Result{}, "Start", "ErrorOffsets", "Listed", "Worst", "ZeroTail", "Axes", "Points", "RefCRC", "NPUCRC")
	places := cmpopts.IgnoreFields(Errors{}, "First", "Last")
	offsets := cmpopts.IgnoreFields(Extreme{}, "Offset")
	values := gocmp.Transformer("values", Metric.OrNaN)
	if diff := gocmp.Diff(a, b, placed, places, offsets, values, cmpopts.EquateApprox(1e-11, 0), cmpopts.EquateNaNs()); diff != "" {
		t.Error(diff)
	}
	if a.RefSum == a.NPUSum {
		t.Error("different tensors have the same sum of hashes")
	}
}

func TestScaling(t *testing.T) {
	const count = 3000
	random := rand.New(rand.NewPCG(6, 6))
	n, r := make([]float64, count), make([]float64, count)
	for i := range n {
		r[i] = random.NormFloat64()
		n[i] = r[i] + 1e-3*random.NormFloat64()
	}
	base := compareValues(t, tensor.Float64, hpaaLimits, n, r)
	for _, exp := range []int{1, -7, 300, -300, 600, -600, 1000, -900} {
		sn, sr := slices.Clone(n), slices.Clone(r)
		for i := range n {
			sn[i], sr[i] = math.Ldexp(n[i], exp), math.Ldexp(r[i], exp)
		}
		got := compareValues(t, tensor.Float64, hpaaLimits, sn, sr)
		check := func(name string, got, want Metric) {
			if got != want {
				t.Errorf("2^%d: %s %v, want %v", exp, name, got, want)
			}
		}
		check("diff1", got.Diff1, base.Diff1)
		check("linf", got.LinfRel, base.LinfRel)
		check("mean_rel", got.MeanRel, base.MeanRel)
		for name, pair := range map[string][2]Metric{
			"cosine": {base.CosineRaw, got.CosineRaw}, "pearson": {base.Pearson, got.Pearson},
			"red": {base.RED, got.RED}, "scale": {base.Scale, got.Scale}, "sqnr": {base.SQNR, got.SQNR}, "snr": {base.SNR, got.SNR},
		} {
			want := pair[0]
			if exp > 400 || exp < -400 { // the squares leave the range of float64
				want = Metric{}
			}
			check(name, pair[1], want)
		}
		for _, m := range []Metric{got.RMSE, got.Ref.RMS, got.NPU.Std, got.HPAA.Std} {
			if m.IsDefined() != (exp < 400 && exp > -400) {
				t.Errorf("2^%d: a root of squares is %v", exp, m)
			}
		}
	}
}

func TestMonotone(t *testing.T) {
	const count = 2000
	req := sampleRequest(tensor.Shape{count})
	ref, npu := sample(count, 7, req.RefDType, req.NPUDType)
	errorsOf := func(l Limits) int64 {
		req.Limits = l
		r, err := Compare(t.Context(), req, ref, npu)
		if err != nil {
			t.Fatal(err)
		}
		return r.Beyond.Count
	}
	limits := []float64{0, 1e-4, 1e-3, 1e-2, 1, 1e300}
	for i, a := range limits {
		for k, b := range limits {
			isclose, both, either := errorsOf(Limits{a, b, IsClose}), errorsOf(Limits{a, b, BothExceeded}), errorsOf(Limits{a, b, EitherExceeded})
			if !(either >= both && both >= isclose && isclose >= 0) {
				t.Errorf("atol %v, rtol %v: isclose %d, both %d, either %d", a, b, isclose, both, either)
			}
			if i > 0 && errorsOf(Limits{limits[i-1], b, IsClose}) < isclose || k > 0 && errorsOf(Limits{a, limits[k-1], IsClose}) < isclose {
				t.Errorf("atol %v, rtol %v: more errors than under lower limits", a, b)
			}
		}
	}
}

// TestMinLimits checks that all elements pass the limits that the engine finds, and that the
// next lower limits fail.
func TestMinLimits(t *testing.T) {
	random := rand.New(rand.NewPCG(8, 8))
	for range 200 {
		count := 1 + random.IntN(2500)
		n, r := make([]float64, count), make([]float64, count)
		for i := range n {
			r[i] = random.NormFloat64()
			n[i] = r[i] + random.NormFloat64()*math.Ldexp(1, -random.IntN(20))
			if random.IntN(10) == 0 {
				n[i] = r[i] * float64(random.IntN(3))
			}
		}
		l := Limits{math.Ldexp(random.Float64(), -random.IntN(8)), math.Ldexp(random.Float64(), -random.IntN(8)), Mode(random.IntN(3))}
		got := compareValues(t, tensor.Float64, l, n, r)
		margin := 0.0
		for i := range n {
			if d := math.Abs(n[i] - r[i]); d > 0 {
				margin = max(margin, d/l.limit(math.Abs(r[i])))
			}
		}
		if got.Margin.Value() != margin {
			t.Errorf("%+v: margin %v, want %v", l, got.Margin, margin)
		}
		for _, c := range []struct {
			found Metric
			with  func(x float64) Limits
		}{
			{got.MinRtol, func(x float64) Limits { return Limits{l.Atol, x, l.Mode} }},
			{got.MinAtol, func(x float64) Limits { return Limits{x, l.Rtol, l.Mode} }},
		} {
			if x := c.found.Value(); !math.IsInf(x, 1) {
				if bad := compareValues(t, tensor.Float64, c.with(x), n, r); bad.Beyond.Count != 0 {
					t.Errorf("%+v: %d errors with %v", l, bad.Beyond.Count, x)
				}
			}
			if x := c.found.Value(); x > 0 {
				lower := min(math.Nextafter(x, 0), math.MaxFloat64)
				if good := compareValues(t, tensor.Float64, c.with(lower), n, r); good.Beyond.Count == 0 {
					t.Errorf("%+v: no errors below %v", l, x)
				}
			}
		}
	}
}

// TestSums compares all metrics with the slow references, for values whose sums are numerically
// hard.
func TestSums(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 9))
	for name, value := range map[string]func(i int) (n, r float64){
		"normal": func(int) (float64, float64) {
			r := random.NormFloat64()
			return r + 1e-3*random.NormFloat64(), r
		},
		"1e8 and noise": func(int) (float64, float64) {
			return 1e8 + random.NormFloat64(), 1e8 + random.NormFloat64()
		},
		"1e20 and -1e20": func(i int) (float64, float64) {
			return []float64{1e20, 1, -1e20}[i%3] + random.Float64(), []float64{1e20, -1e20, 1}[i%3]
		},
		"many magnitudes": func(int) (float64, float64) {
			r := math.Ldexp(random.NormFloat64(), random.IntN(80)-40)
			return r * (1 + random.NormFloat64()/100), r
		},
	} {
		for _, count := range []int{1, 2, 5, 100, 3000} {
			n, r := make([]float64, count), make([]float64, count)
			for i := range n {
				n[i], r[i] = value(i)
			}
			t.Run(fmt.Sprint(name, " ", count), func(t *testing.T) { checkValues(t, tensor.Float64, hpaaLimits, n, r) })
		}
	}
}

// checkValues compares all metrics of a pair with the slow references.
func checkValues(t *testing.T, d tensor.DType, limits Limits, n, r []float64) {
	t.Helper()
	checkStored(t, d, d, limits, store(d, n...), store(d, r...))
}

// checkStored compares a result with the slow references.
func checkStored(t *testing.T, refType, npuType tensor.DType, limits Limits, npu, ref memory) {
	t.Helper()
	count := min(len(npu.data)/npu.size, len(ref.data)/ref.size)
	req := Request{Shape: tensor.Shape{int64(count)}, RefDType: refType, NPUDType: npuType, Limits: limits}
	got, err := Compare(t.Context(), req, ref, npu)
	if err != nil {
		t.Fatal(err)
	}
	checkSlowly(t, req, ref, npu, got)
}

// TestPartialIsBounded fills every list of a partial result to its limit.
func TestPartialIsBounded(t *testing.T) {
	for _, shape := range []tensor.Shape{
		{1 << 24, 4}, {8192, 8192}, {1 << 26}, {1024, 1024, 64}, slices.Repeat(tensor.Shape{2}, 26),
	} {
		req := sampleRequest(shape)
		req.RefDType, req.NPUDType = tensor.Float64, tensor.Float64
		req.Top, req.List, req.Points = 0, 0, 0
		e, err := New(req)
		if err != nil {
			t.Fatal(err)
		}
		e.segmentElements = 64 * blockElements
		random := rand.New(rand.NewPCG(1, 1))
		part, err := e.Run(t.Context(), 3, anything{random}, anything{random})
		if err != nil {
			t.Fatal(err)
		}
		size := 24*(len(part.axes.columns.abs)+len(part.axes.outer.abs)) +
			16*(len(part.absHistogram.Bins)+len(part.relHistogram.Bins))
		if size > 3<<19 {
			t.Errorf("%s: a partial result of %d bytes", shape, size)
		}
	}
}

// anything is a reader of random bits.
type anything struct{ random *rand.Rand }

func (a anything) ReadElements(dst []byte, _ int64) error {
	for i := range dst {
		dst[i] = byte(a.random.Uint32())
	}
	return nil
}

func TestMergerOrder(t *testing.T) {
	const count = 3 * blockElements
	req := sampleRequest(tensor.Shape{count})
	ref, npu := sample(count, 1, req.RefDType, req.NPUDType)
	e, err := New(req)
	if err != nil {
		t.Fatal(err)
	}
	e.segmentElements = blockElements
	part, err := e.Run(t.Context(), 1, ref, npu)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.NewMerger().Add(part); err == nil {
		t.Error("the second segment is taken as the first")
	}
	if _, err := e.Run(t.Context(), 3, ref, npu); err == nil {
		t.Error("segment 3 of 3 is computed")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.Run(ctx, 0, ref, npu); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
}
