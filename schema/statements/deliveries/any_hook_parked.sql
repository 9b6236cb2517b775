select exists (select from cairn.hook_delivery d where d.hook = $1::text and d.status = 'parked') as parked
