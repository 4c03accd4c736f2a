package main

import (
	"encoding/json"
	"math/big"
	"strconv"
	"time"

	"github.com/robfig/cron/v3"
	"k8s.io/apimachinery/pkg/api/resource"
)

// instant is a time that a question may leave out.
type instant struct{ time.Time }

// UnmarshalJSON reads RFC 3339.
func (i *instant) UnmarshalJSON(text []byte) error {
	return json.Unmarshal(text, &i.Time)
}

type rejection struct {
	Error string `json:"error"`
}

type fires struct {
	Next []time.Time `json:"next"`
}

type length struct {
	// Nanos is a decimal number: a quantity may be beyond any machine word.
	Nanos string `json:"nanos"`
}

// fireTimes reads a schedule behind the prefix that Karpenter's Budget.IsActive adds.
func fireTimes(text string, after time.Time, count int) any {
	schedule, err := cron.ParseStandard("TZ=UTC " + text)
	if err != nil {
		return rejection{err.Error()}
	}
	answer := fires{Next: []time.Time{}}
	for range count {
		after = schedule.Next(after.UTC())
		if after.IsZero() {
			break
		}
		answer.Next = append(answer.Next, after)
	}
	return answer
}

func duration(text string) any {
	value, err := time.ParseDuration(text)
	if err != nil {
		return rejection{err.Error()}
	}
	return length{strconv.FormatInt(int64(value), 10)}
}

func quantity(text string) any {
	value, err := resource.ParseQuantity(text)
	if err != nil {
		return rejection{err.Error()}
	}
	return length{nanos(value)}
}

// nanos is exact: no quantity is finer than 10^-9.
func nanos(quantity resource.Quantity) string {
	decimal := quantity.AsDec()
	shift := 9 - int64(decimal.Scale())
	power := new(big.Int).Exp(big.NewInt(10), big.NewInt(max(shift, -shift)), nil)
	if shift >= 0 {
		return power.Mul(power, decimal.UnscaledBig()).String()
	}
	return power.Quo(decimal.UnscaledBig(), power).String()
}
