package page

import (
	"time"

	"dumptool/internal/compare/record"
)

// dumps describes the files of a side.
type dumps struct {
	Files int   `json:"files"`
	Bytes int64 `json:"bytes"`
	// Oldest and Newest are the extreme times in the names and headers of the files, in UTC; empty
	// if there are none.
	Oldest   string            `json:"oldest,omitempty"`
	Newest   string            `json:"newest,omitempty"`
	Software []record.Software `json:"software,omitempty"`
}

// dumpsOf describes the files in a side's rounds that the other side has too.
func dumpsOf(rounds []record.ListedRound) dumps {
	var all record.Dumps
	for i := range rounds {
		if rounds[i].Paired {
			all.Add(&rounds[i].Dumps)
		}
	}
	return dumps{Files: all.Files, Bytes: all.Bytes, Oldest: formatTime(all.Oldest), Newest: formatTime(all.Newest), Software: all.Software}
}

// formatTime formats microseconds since 1970 in UTC; empty for 0.
func formatTime(at uint64) string {
	if at == 0 {
		return ""
	}
	return time.UnixMicro(int64(at)).UTC().Format(time.DateTime)
}
