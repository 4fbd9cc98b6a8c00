--! Previous: sha1:5f3e1e26f22e7a9039548f871f291a77d9c3156e
--! Hash: sha1:910c6214e88412b18c07931bec32d1bf7adc08f7
--! Message: names that show

-- A name has a character that shows. Names without one are replaced first.
do $do$
declare
  v_visible constant text :=
    '[^\u0001-\u0020\u007f-\u00a0\u00ad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f'
    '\u2000-\u200f\u2028-\u202f\u205f-\u206f\u2800\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000110bd\U000110cd'
    '\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d159\U0001d173-\U0001d17a\U000e0000-\U000e0fff]';
begin
  update app.tenants set name = slug where name !~ v_visible;
  update app.users set display_name = null where display_name !~ v_visible;
  update app.api_keys set name = id::text where name !~ v_visible;
  execute format($$alter table app.tenants drop constraint if exists tenants_name_not_blank,
    add constraint tenants_name_not_blank check (name ~ %L)$$, v_visible);
  execute format($$alter table app.users drop constraint if exists users_display_name_not_blank,
    add constraint users_display_name_not_blank check (display_name ~ %L)$$, v_visible);
  execute format($$alter table app.api_keys drop constraint if exists api_keys_name_not_blank,
    add constraint api_keys_name_not_blank check (name ~ %L)$$, v_visible);
end
$do$;
comment on column app.tenants.name is '1 to 255 characters, one of which shows. The service stores it in Unicode form NFC.';
select control.gate();
