package align

import (
	"reflect"
	"testing"

	"dumptool/internal/layout"
	"dumptool/internal/tensor"
)

// TestPlansOfRequests sets each field of a request in turn: no two requests have one plan.
func TestPlansOfRequests(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	add := func(name string, r layout.Request) {
		key := string(appendRequest(nil, &r))
		if other, ok := seen[key]; ok {
			t.Errorf("%s and %s have one key", name, other)
		}
		seen[key] = name
	}
	add("zero", layout.Request{})
	fields := reflect.TypeFor[layout.Request]()
	for i := range fields.NumField() {
		values := []any{}
		switch fields.Field(i).Type {
		case reflect.TypeFor[tensor.Shape]():
			values = append(values, tensor.Shape{}, tensor.Shape{1}, tensor.Shape{1, 2}, tensor.Shape{2, 1}, tensor.Shape{0, 300})
		case reflect.TypeFor[*tensor.Format]():
			zero, other := tensor.Format(0), tensor.ND
			values = append(values, &zero, &other)
		default:
			one := reflect.New(fields.Field(i).Type).Elem()
			one.SetInt(7)
			values = append(values, one.Interface())
		}
		for _, v := range values {
			var r layout.Request
			reflect.ValueOf(&r).Elem().Field(i).Set(reflect.ValueOf(v))
			add(fields.Field(i).Name, r)
		}
	}
}

// TestPlansAreKept asks for more plans than are kept, and for errors too.
func TestPlansAreKept(t *testing.T) {
	t.Parallel()
	var p plans
	for round := range 2 {
		for n := range int64(mostPlans + 10) {
			r := layout.Request{DType: tensor.Float32, Source: tensor.FractalNZ, Shape: tensor.Shape{1, n + 1, 16, 16}, Target: tensor.ND}
			got, err := p.of(&r)
			want, wantErr := layout.NewPlan(r)
			if (err == nil) != (wantErr == nil) || err == nil && !got.Shape.Equal(want.Shape) || err != nil && err.Error() != wantErr.Error() {
				t.Fatalf("round %d: %v: %v, %v, want %v, %v", round, r.Shape, got, err, want, wantErr)
			}
		}
	}
	broken := layout.Request{DType: tensor.Float32, Source: tensor.FractalNZ, Shape: tensor.Shape{1 << 62, 4}, Target: tensor.NCHW}
	for range 2 {
		if _, err := p.of(&broken); err == nil {
			t.Error("a plan for a shape of too many elements")
		}
	}
	if len(p.known) > mostPlans {
		t.Errorf("%d plans are kept", len(p.known))
	}
}
