package report

import (
	"errors"

	"dumptool/internal/opdebug"
)

// rescuedJSON is the form of a new layout record with what is left of one that
// was read with the old layout.
type rescuedJSON struct {
	Magic   string       `json:"magic"`
	Version uint32       `json:"version"`
	AccList rescuedEntry `json:"acc_list"`
}

type rescuedEntry struct {
	Valid   uint32      `json:"valid"`
	AccType string      `json:"acc_type"`
	Rsv     uint32      `json:"rsv"`
	DataLen uint32      `json:"data_len"`
	Data    rescuedData `json:"data"`
}

// rescuedData has a status when the last of four words is left; null stands
// for the others.
type rescuedData struct {
	ModelID  uint64    `json:"model_id"`
	StreamID uint64    `json:"stream_id"`
	TaskID   uint64    `json:"task_id"`
	Status   []*uint64 `json:"status,omitempty"`
}

func rescuedForm(r *opdebug.Rescued) *rescuedJSON {
	h := &r.Header
	form := &rescuedJSON{
		Magic: hexText(uint64(h.Magic)), Version: h.Version,
		AccList: rescuedEntry{
			Valid: h.Valid, AccType: r.Unit.String(), Rsv: h.Rsv, DataLen: h.DataLen,
			Data: rescuedData{ModelID: r.ModelID, StreamID: r.StreamID, TaskID: r.TaskID},
		},
	}
	if r.HasStatus {
		form.AccList.Data.Status = []*uint64{nil, nil, nil, &r.LastStatus}
	}
	return form
}

// headerJSON is a header whose entry cannot be read. acc_type is a number.
type headerJSON struct {
	Magic   string `json:"magic"`
	Version uint32 `json:"version"`
	Valid   uint32 `json:"valid"`
	AccType uint32 `json:"acc_type"`
	Rsv     uint32 `json:"rsv"`
	DataLen uint32 `json:"data_len"`
}

// headerOf returns the header that an error tells of, nil for other errors.
func headerOf(err error) *headerJSON {
	var unknown *opdebug.AccTypeError
	if !errors.As(err, &unknown) {
		return nil
	}
	h := &unknown.Header
	return &headerJSON{hexText(uint64(h.Magic)), h.Version, h.Valid, h.AccType, h.Rsv, h.DataLen}
}
