package opdebug_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"dumptool/internal/opdebug"

	"github.com/google/go-cmp/cmp"
)

func TestRescueGolden(t *testing.T) {
	for _, name := range dumpNames(t)[3:] {
		t.Run(name, func(t *testing.T) {
			payload := slices.Concat(readPayload(t, name), make([]byte, 2048-512))
			truth := mustParse(t, payload)
			r, err := opdebug.ParseJSON(mindSporeJSON(t, payload))
			var misread *opdebug.MisreadError
			if r != nil || !errors.As(err, &misread) {
				t.Fatalf("ParseJSON = %v, %v", r, err)
			}
			a := truth.Areas[0]
			want := opdebug.MisreadRemainder{
				Header: truth.Header, Unit: a.Unit,
				ModelID: a.ModelID, StreamID: a.StreamID, TaskID: a.TaskID,
			}
			if len(a.Status) == 4 {
				want.LastStatus, want.HasStatus = a.Status[3], true
			}
			if d := cmp.Diff(want, misread.Rescued); d != "" {
				t.Errorf("rescued (-want +got):\n%s", d)
			}
		})
	}
}

// Numbers as in such files.
func TestRescueNumbers(t *testing.T) {
	const area = `"para_base":"0x0","pc_start":"0x0","status":0,"stream_id":0,"task_id":0,"task_type":0}`
	const tail = `"L2 Atomic Add":{"model_id":77,` + area + `}`
	const head = `{"AI Core":{"block_idx":0,"kernel_code":"0x0","model_id":0,` + area + `,`
	const ids = `"para_base":"0x41","pc_start":"0x18c","status":0,`
	tests := []struct {
		name, dha string
		want      opdebug.MisreadRemainder
	}{
		{"v0 AIC", `"model_id":1515870810,` + ids + `"stream_id":1,"task_id":377957122048,"task_type":365`,
			opdebug.MisreadRemainder{Header: validHeader(opdebug.AIC, 0), Unit: opdebug.AIC}},
		{"v1 AIV", `"model_id":5810838106,` + ids + `"stream_id":4294967297,"task_id":481036337152,"task_type":365`,
			opdebug.MisreadRemainder{Header: validHeader(opdebug.AIV, 1), Unit: opdebug.AIV, LastStatus: 77, HasStatus: true}},
		{"v0 AICPU", `"model_id":1515870810,` + ids + `"stream_id":8589934593,"task_id":274877906944,"task_type":365`,
			opdebug.MisreadRemainder{Header: validHeader(opdebug.AICPU, 0), Unit: opdebug.AICPU}},
		{"v1 SDMA", `"model_id":5810838106,` + ids + `"stream_id":12884901889,"task_id":343597383680,"task_type":365`,
			opdebug.MisreadRemainder{Header: validHeader(opdebug.SDMA, 1), Unit: opdebug.SDMA}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := opdebug.ParseJSON([]byte(head + `"DHA Atomic Add":{` + tt.dha + `},` + tail))
			var misread *opdebug.MisreadError
			if !errors.As(err, &misread) {
				t.Fatalf("error %v", err)
			}
			tt.want.ModelID, tt.want.StreamID, tt.want.TaskID = 365, 396, 65
			if d := cmp.Diff(tt.want, misread.Rescued); d != "" {
				t.Errorf("rescued (-want +got):\n%s", d)
			}
			if want := "model_id 365, stream_id 396, task_id 65"; !strings.HasSuffix(err.Error(), want) {
				t.Errorf("message %q, want %q at the end", err, want)
			}
		})
	}
}

func TestRescueWarnings(t *testing.T) {
	payload := entry(2048, [6]uint32{opdebug.Magic, 0, 0, 1, 0, 60}, 1, 2, 3)
	_, err := opdebug.ParseJSON(mindSporeJSON(t, payload))
	var misread *opdebug.MisreadError
	if !errors.As(err, &misread) || len(misread.Rescued.Warnings) != 2 {
		t.Fatalf("error %v, want warnings of valid and data_len", err)
	}
}

func TestRescueUnknownAccType(t *testing.T) {
	payload := entry(2048, [6]uint32{opdebug.Magic, 0, 1, 5, 0, 88}, 1, 2, 3)
	_, err := opdebug.ParseJSON(mindSporeJSON(t, payload))
	var acc *opdebug.AccTypeError
	if !errors.As(err, &acc) || acc.Header.AccType != 5 {
		t.Errorf("error %v", err)
	}
}
